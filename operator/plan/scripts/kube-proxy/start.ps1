# Starts kube-proxy in a HostProcess container. Its arguments are decided by the operator; this script adds what
# only the node knows: its name, its address in the HNS network, and where the pod's credentials are.

$ErrorActionPreference = 'Stop'

# Volumes are below this folder with and without bind mounts (containerd 1.6 and 1.7).
$root = $env:CONTAINER_SANDBOX_MOUNT_POINT.TrimEnd('\', '/').Replace('\', '/')

# One line that says why, where `kubectl describe pod` shows it, then an exit code the kubelet restarts on.
function Stop-WithMessage([string] $message) {
    $terminationLog = "$root/dev/termination-log"
    if (Test-Path -LiteralPath $terminationLog) {
        Set-Content -LiteralPath $terminationLog -Value $message -Encoding ascii -ErrorAction SilentlyContinue
    }
    [Console]::Error.WriteLine($message)
    exit 1
}

# Returns what $find returns as soon as it returns something; ends the script at the deadline.
function Wait-ForHns([scriptblock] $find, [datetime] $deadline, [string] $message) {
    while ((Get-Date) -lt $deadline) {
        # HNS restarts while the agent builds its networks: an error is a reason to ask again.
        try { $found = & $find } catch { $found = $null }
        if ($found) { return $found }
        Start-Sleep -Seconds 1
    }
    Stop-WithMessage $message
}

# A file of the token, not the token: the kubelet renews it.
function Write-Kubeconfig([string] $path) {
    $account = "$root/var/run/secrets/kubernetes.io/serviceaccount"
    $apiHost = $env:KUBERNETES_SERVICE_HOST
    if ($apiHost.Contains(':')) { $apiHost = "[$apiHost]" }
    $kubeconfig = @{
        apiVersion        = 'v1'
        kind              = 'Config'
        'current-context' = 'default'
        clusters          = @(@{
            name    = 'default'
            cluster = @{
                server                  = "https://${apiHost}:$env:KUBERNETES_SERVICE_PORT"
                'certificate-authority' = "$account/ca.crt"
            }
        })
        users             = @(@{ name = 'default'; user = @{ tokenFile = "$account/token" } })
        contexts          = @(@{ name = 'default'; context = @{ cluster = 'default'; user = 'default' } })
    }
    ConvertTo-Json -InputObject $kubeconfig -Depth 5 | Set-Content -LiteralPath $path -Encoding ascii
}

# The process's own command line, not $args: PowerShell splits `--name=address:port` at the colon.
$commandLine = [Environment]::GetCommandLineArgs()
$file = [Array]::IndexOf($commandLine, '-File')
if ($file -lt 0) { Stop-WithMessage 'start.ps1 must be run by powershell.exe -File' }
$arguments = @($commandLine | Select-Object -Skip ($file + 2))

try {
    Import-Module "$root/kube-proxy/hns.psm1" -Force -DisableNameChecking

    $networkName = $env:KUBE_NETWORK
    $seconds = [int] $env:HNS_WAIT_SECONDS
    $deadline = (Get-Date).AddSeconds($seconds)

    Write-Host "Waiting up to $seconds s for HNS network $networkName"
    $null = Wait-ForHns { Get-HnsNetwork | Where-Object Name -EQ $networkName } $deadline (
        "HNS network $networkName did not appear within $seconds s: " +
        'see the node agent on this node (DaemonSet calico-node-windows, container node)')

    $endpointName = $env:SOURCE_VIP_ENDPOINT
    if ($endpointName) {
        Write-Host "Waiting for HNS endpoint $endpointName"
        $sourceVip = Wait-ForHns {
            Get-HnsEndpoint | Where-Object Name -EQ $endpointName | Select-Object -First 1 -ExpandProperty IPAddress
        } $deadline (
            "HNS endpoint $endpointName did not appear within $seconds s: " +
            'see the node agent on this node (DaemonSet calico-node-windows, container node)')
        $arguments += "--source-vip=$sourceVip"
    }

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
