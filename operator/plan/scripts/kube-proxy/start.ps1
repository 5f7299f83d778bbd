# Starts kube-proxy in a HostProcess container. Its arguments are decided by the operator; this script adds what
# only the node knows: its name, its address in the HNS network, and where the pod's credentials are.

# Asks the IPAM plugin of the pods for an address of the network's subnet that no pod gets.
function Invoke-HostLocal([string] $command, [string] $request) {
    $env:CNI_COMMAND = $command
    $env:CNI_CONTAINERID = 'kube-proxy'
    $env:CNI_NETNS = 'none'
    $env:CNI_IFNAME = 'source-vip'
    $env:CNI_PATH = $env:CNI_BIN_DIR
    $answer = $request | & "$env:CNI_BIN_DIR/host-local.exe"
    if ($LASTEXITCODE -ne 0) { Stop-WithMessage "host-local $command of kube-proxy's source VIP failed: $answer" }
    return $answer
}

# The plugin refuses to give the same container a second address, and a new one at each start would leave rules of the old
# one behind: what it gave is remembered together with its subnet, and used while subnet and reservation are the same.
function Get-ReservedAddress([string] $networkName) {
    $store = "$env:SystemDrive/var/lib/cni/networks"
    $memory = "$env:SystemDrive/var/lib/kube-proxy-windows/source-vip.json"
    $network = Get-HnsNetwork | Where-Object Name -EQ $networkName | Select-Object -First 1
    $subnet = @($network.Subnets)[0].AddressPrefix
    if (-not $subnet) { Stop-WithMessage "HNS network $networkName has no subnet to take kube-proxy's source VIP from" }
    if (Test-Path -LiteralPath $memory) {
        $known = Get-Content -Raw -LiteralPath $memory | ConvertFrom-Json
        $reserved = Test-Path -LiteralPath "$store/$networkName/$($known.address)"
        if ($known.subnet -eq $subnet -and $reserved) { return $known.address }
    }
    # The name is that of the pods' network: one name, one list of reservations.
    $request = ConvertTo-Json -Compress -Depth 6 -InputObject @{
        cniVersion = '0.3.1'
        name       = $networkName
        ipam       = @{ type = 'host-local'; ranges = @(, @(@{ subnet = $subnet })); dataDir = $store }
    }
    $null = Invoke-HostLocal 'DEL' $request
    $answer = Invoke-HostLocal 'ADD' $request | Out-String | ConvertFrom-Json
    $address = @($answer.ips)[0].address.Split('/')[0]
    $null = New-Item -ItemType Directory -Force -Path (Split-Path -Parent $memory)
    ConvertTo-Json -Compress -InputObject @{ subnet = $subnet; address = $address } |
        Set-Content -LiteralPath $memory -Encoding ascii
    return $address
}

$arguments = @(Get-GivenArguments)

try {
    Import-Module "$root/kube-proxy/hns.psm1" -Force -DisableNameChecking

    $networkName = $env:KUBE_NETWORK
    $seconds = [int] $env:HNS_WAIT_SECONDS
    $deadline = (Get-Date).AddSeconds($seconds)

    Write-Host "Waiting up to $seconds s for HNS network $networkName"
    $null = Wait-ForHns { Get-HnsNetwork | Where-Object Name -EQ $networkName } $deadline (
        "HNS network $networkName did not appear within $seconds s: " +
        "see the agent that makes it on this node ($env:NETWORK_AGENT)")

    $endpointName = $env:SOURCE_VIP_ENDPOINT
    if ($endpointName) {
        Write-Host "Waiting for HNS endpoint $endpointName"
        $sourceVip = Wait-ForHns {
            Get-HnsEndpoint | Where-Object Name -EQ $endpointName | Select-Object -First 1 -ExpandProperty IPAddress
        } $deadline (
            "HNS endpoint $endpointName did not appear within $seconds s: " +
            "see the agent that makes it on this node ($env:NETWORK_AGENT)")
        $arguments += "--source-vip=$sourceVip"
    }
    if ($env:SOURCE_VIP_IPAM) { $arguments += "--source-vip=$(Get-ReservedAddress $networkName)" }

    $kubeconfigPath = "$root/kube-proxy/kubeconfig.json"
    Write-Kubeconfig $kubeconfigPath
    $arguments += "--hostname-override=$env:NODENAME"
    $arguments += "--kubeconfig=$kubeconfigPath"

    # kube-proxy does not resync with load balancers of an earlier run (sig-windows-tools' start.ps1).
    $policyLists = Get-HnsPolicyList
    if ($policyLists) { $policyLists | Remove-HnsPolicyList }
} catch {
    Stop-WithMessage "kube-proxy could not be started: $($_.Exception.Message)"
}

Write-Host "Starting kube-proxy $arguments"
& "$root/kube-proxy/kube-proxy.exe" @arguments
exit $LASTEXITCODE
