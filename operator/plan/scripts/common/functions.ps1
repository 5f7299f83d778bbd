# What every start script in a HostProcess container begins with.

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

# What the operator decided: the process's own command line, not $args, which PowerShell splits at `--name=address:port`.
function Get-GivenArguments {
    $commandLine = [Environment]::GetCommandLineArgs()
    $file = [Array]::IndexOf($commandLine, '-File')
    if ($file -lt 0) { Stop-WithMessage 'start.ps1 must be run by powershell.exe -File' }
    return @($commandLine | Select-Object -Skip ($file + 2))
}
