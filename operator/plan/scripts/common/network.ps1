# What the start scripts of network agents have in common.

# Copies the CNI plugins of the image to where containerd looks for them.
function Install-CniPlugins {
    $null = New-Item -ItemType Directory -Force -Path $env:CNI_BIN_DIR
    foreach ($plugin in Get-ChildItem -LiteralPath "$root/cni" -Filter '*.exe') {
        $target = "$env:CNI_BIN_DIR/$($plugin.Name)"
        # One that is in use cannot be replaced, and need not be if it is the same.
        $same = (Test-Path -LiteralPath $target) -and
            (Get-FileHash -LiteralPath $target).Hash -eq (Get-FileHash -LiteralPath $plugin.FullName).Hash
        if (-not $same) { Copy-Item -LiteralPath $plugin.FullName -Destination $target -Force }
    }
}

# The range of the node's own network: traffic to it leaves with the pod's address.
function Get-ManagementSubnet {
    $address = Get-NetIPAddress -IPAddress $env:NODE_IP | Select-Object -First 1
    $bits = [int] $address.PrefixLength
    $bytes = ([Net.IPAddress] $env:NODE_IP).GetAddressBytes()
    for ($i = 0; $i -lt 4; $i++) {
        $kept = [Math]::Max(0, [Math]::Min(8, $bits - 8 * $i))
        $bytes[$i] = $bytes[$i] -band (256 - [Math]::Pow(2, 8 - $kept))
    }
    return "$(([Net.IPAddress] $bytes).ToString())/$bits"
}

# Fills what only the node knows into the template, and puts the file where containerd looks for it.
function Write-CniConfig([string] $template, [string] $name, [hashtable] $values) {
    $text = Get-Content -Raw -LiteralPath $template
    foreach ($placeholder in $values.Keys) { $text = $text.Replace($placeholder, $values[$placeholder]) }
    $null = New-Item -ItemType Directory -Force -Path $env:CNI_CONF_DIR
    $first = Get-ChildItem -LiteralPath $env:CNI_CONF_DIR -File | Where-Object { $_.Extension -in '.conf', '.conflist', '.json' } |
        Sort-Object Name | Select-Object -First 1
    # containerd takes the first by name.
    if ($first -and $first.Name -lt $name) {
        Stop-WithMessage "containerd reads $($first.FullName) before ${name}: remove it if nothing uses it any more"
    }
    Set-Content -LiteralPath "$env:CNI_CONF_DIR/$name" -Value $text -Encoding ascii
}
