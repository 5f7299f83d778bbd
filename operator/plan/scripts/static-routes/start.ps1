# Networks a Windows node by routes, in a HostProcess container: an L2Bridge with the node's pod CIDR, a CNI configuration,
# and a route to every other node's pod CIDR. Which node has which is in a mounted file that changes in place.

$networkName = $env:HNS_NETWORK
$nodesFile = "$root/etc/static-routes-windows-nodes/nodes"
$readyFile = "$env:SystemDrive/run/static-routes/ready"
# Marks the routes as ours among those of the same adapter (microsoft/SDN, AddRoutes.ps1 has the number).
$ourMetric = 300

# Lines `<pod CIDR> <address> <node>` as objects.
function Read-Nodes {
    foreach ($line in Get-Content -LiteralPath $nodesFile) {
        $parts = $line.Split(' ')
        if ($parts.Count -eq 3) { @{ PodCidr = $parts[0]; Address = $parts[1]; Name = $parts[2] } }
    }
}

# The address that many places after the first of a range.
function Get-AddressOf([string] $cidr, [int] $place) {
    $bytes = ([Net.IPAddress] $cidr.Split('/')[0]).GetAddressBytes()
    $bytes[3] += $place
    return ([Net.IPAddress] $bytes).ToString()
}

# The bridge; pods' gateway is the endpoint at .2, which win-bridge expects. Making the network interrupts the node's
# own connections for some seconds.
function Set-Bridge([string] $podCidr) {
    $network = Get-HnsNetwork | Where-Object Name -EQ $networkName | Select-Object -First 1
    if ($network -and @($network.Subnets)[0].AddressPrefix -ne $podCidr) {
        Write-Host "The node's pod CIDR is $podCidr now: HNS network $networkName is created again"
        $network | Remove-HnsNetwork
        $network = $null
    }
    if (-not $network) {
        $network = New-HnsNetwork -Type L2Bridge -AddressPrefix $podCidr -Gateway (Get-AddressOf $podCidr 1) -Name $networkName
    }
    $endpointName = "${networkName}_ep"
    $endpoint = Get-HnsEndpoint | Where-Object Name -EQ $endpointName | Select-Object -First 1
    if (-not $endpoint) {
        $endpoint = New-HnsEndpoint -NetworkId $network.Id -Name $endpointName -IPAddress (Get-AddressOf $podCidr 2) -Gateway '0.0.0.0'
        Attach-HnsHostEndpoint -EndpointID $endpoint.Id -CompartmentID 1
    }
    # Both adapters pass on what is not theirs.
    Get-NetIPAddress -AddressFamily IPv4 | Where-Object { $_.IPAddress -in $env:NODE_IP, (Get-AddressOf $podCidr 2) } |
        ForEach-Object { Set-NetIPInterface -InterfaceIndex $_.InterfaceIndex -AddressFamily IPv4 -Forwarding Enabled }
}

# Adds the routes that are missing and takes away those of nodes that are gone; others' are not touched.
function Set-Routes([object[]] $nodes) {
    $adapter = Get-NetIPAddress -IPAddress $env:NODE_IP | Select-Object -First 1 -ExpandProperty InterfaceIndex
    $wanted = @{}
    foreach ($node in $nodes) {
        if ($node.Name -ne $env:NODENAME) { $wanted[$node.PodCidr] = $node.Address }
    }
    $existing = @(Get-NetRoute -InterfaceIndex $adapter -AddressFamily IPv4 -PolicyStore ActiveStore |
        Where-Object RouteMetric -EQ $ourMetric)
    foreach ($route in $existing) {
        if ($wanted[$route.DestinationPrefix] -eq $route.NextHop) {
            $wanted.Remove($route.DestinationPrefix)
        } else {
            Write-Host "Removing the route to $($route.DestinationPrefix) by $($route.NextHop)"
            $route | Remove-NetRoute -Confirm:$false
        }
    }
    foreach ($podCidr in $wanted.Keys) {
        Write-Host "Adding a route to $podCidr by $($wanted[$podCidr])"
        $null = New-NetRoute -DestinationPrefix $podCidr -NextHop $wanted[$podCidr] -InterfaceIndex $adapter `
            -RouteMetric $ourMetric -PolicyStore ActiveStore
    }
}

try {
    Import-Module "$root/static-routes/hns.psm1" -Force -DisableNameChecking
    if (Test-Path -LiteralPath $readyFile) { Remove-Item -LiteralPath $readyFile -Force }
    Install-CniPlugins

    $configured = ''
    while ($true) {
        $nodes = @(Read-Nodes)
        $own = $nodes | Where-Object { $_.Name -eq $env:NODENAME } | Select-Object -First 1
        if ($own) {
            if ($own.PodCidr -ne $configured) {
                Set-Bridge $own.PodCidr
                $values = @{
                    '__POD_CIDR__'          = $own.PodCidr
                    '__RANGE_START__'       = Get-AddressOf $own.PodCidr 3
                    '__NODE_IP__'           = $env:NODE_IP
                    '__MANAGEMENT_SUBNET__' = Get-ManagementSubnet
                }
                Write-CniConfig "$root/etc/static-routes-windows/cni.conf" '10-static-routes.conf' $values
                $configured = $own.PodCidr
            }
            Set-Routes $nodes
            if (-not (Test-Path -LiteralPath $readyFile)) { $null = New-Item -ItemType File -Force -Path $readyFile }
        } else {
            Write-Host "Node $env:NODENAME has no spec.podCIDR or address yet"
        }
        Start-Sleep -Seconds 10
    }
} catch {
    Stop-WithMessage "the node's network or routes could not be set up: $($_.Exception.Message)"
}
