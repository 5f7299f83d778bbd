# Runs flannel in a HostProcess container. What it is to do is decided by the operator; this script adds what only the
# node knows: its address and prefix, and where the pod's credentials are.

$arguments = @(Get-GivenArguments)

try {
    $readyFile = "$env:SystemDrive/run/flannel/subnet.env"
    # flannel writes it when the network is made; one of an earlier start would say so too early.
    if (Test-Path -LiteralPath $readyFile) { Remove-Item -LiteralPath $readyFile -Force }

    Install-CniPlugins
    $netConf = "$env:SystemDrive/etc/kube-flannel/net-conf.json"
    $null = New-Item -ItemType Directory -Force -Path (Split-Path -Parent $netConf)
    Copy-Item -LiteralPath "$root/etc/kube-flannel-windows/net-conf.json" -Destination $netConf -Force

    $values = @{
        '__NODE_IP__'           = $env:NODE_IP
        '__MANAGEMENT_SUBNET__' = Get-ManagementSubnet
    }
    Write-CniConfig "$root/etc/kube-flannel-windows/cni.conf" '10-flannel.conf' $values

    $kubeconfigPath = "$root/kube-flannel-kubeconfig.json"
    Write-Kubeconfig $kubeconfigPath
    $arguments += "--kubeconfig-file=$kubeconfigPath"
    $arguments += "--net-config-path=$netConf"
    $arguments += "--iface=$env:NODE_IP"
} catch {
    Stop-WithMessage "flannel could not be started: $($_.Exception.Message)"
}

Write-Host "Starting flanneld $arguments"
& "$root/flannel/flanneld.exe" @arguments
exit $LASTEXITCODE
