//! The order in which Calico's types have their fields, which is the order Go writes them in (projectcalico/calico
//! v3.33, `api/pkg/apis/projectcalico/v3/{felixconfig,ippool}.go`, `libcalico-go/lib/backend/model/ipam_config.go`).

use wn_api::calico::ConfigKind;

pub const fn of(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::IpamConfiguration => IPAM,
        ConfigKind::IpPool => POOL,
        ConfigKind::FelixConfiguration => FELIX,
        ConfigKind::Installation | ConfigKind::FlannelConfiguration => "",
    }
}

const IPAM: &str =
    "strict_affinity auto_allocate_blocks maxBlocksPerHost kubeVirtVMAddressPersistence ipCooldownSeconds";

const POOL: &str = "cidr vxlanMode ipipMode natOutgoing disabled disableBGPExport blockSize nodeSelector namespaceSelector \
    allowedUses assignmentMode";

/// From the first field we set: what comes before it is never looked for.
const FELIX: &str = "ipipEnabled ipipMTU vxlanEnabled vxlanMTU vxlanMTUV6 vxlanPort vxlanVNI allowVXLANPacketsFromWorkloads \
    allowIPIPPacketsFromWorkloads reportingInterval reportingTTL endpointReportingEnabled \
    endpointReportingDelay endpointStatusPathPrefix iptablesMarkMask disableConntrackInvalidCheck \
    healthEnabled healthHost healthPort healthTimeoutOverrides prometheusMetricsEnabled \
    prometheusMetricsHost prometheusMetricsPort prometheusGoMetricsEnabled prometheusProcessMetricsEnabled \
    prometheusWireGuardMetricsEnabled prometheusMetricsCAFile prometheusMetricsCertFile \
    prometheusMetricsKeyFile prometheusMetricsClientAuth failsafeInboundHostPorts failsafeOutboundHostPorts \
    kubeNodePortRanges policySyncPathPrefix usageReportingEnabled usageReportingInitialDelay \
    usageReportingInterval natPortRange natOutgoingAddress natOutgoingExclusions deviceRouteSourceAddress \
    deviceRouteSourceAddressIPv6 deviceRouteProtocol removeExternalRoutes programClusterRoutes ipForwarding \
    externalNodesList debugMemoryProfilePath debugDisableLogDropping debugSimulateCalcGraphHangAfter \
    debugSimulateDataplaneHangAfter debugSimulateDataplaneApplyDelay debugHost debugPort \
    iptablesNATOutgoingInterfaceFilter sidecarAccelerationEnabled xdpEnabled genericXDPEnabled nftablesMode \
    nftablesFlowTableOffload nftablesFlowTableDataIfacePattern nftablesRefreshInterval \
    nftablesFilterAllowAction nftablesMangleAllowAction nftablesFilterDenyAction nftablesMarkMask \
    bpfEnabled bpfOverlayHostSourceIP bpfDisableUnprivileged bpfJITHardening bpfLogLevel \
    bpfConntrackLogLevel bpfConntrackMode bpfConntrackTimeouts bpfIPFragTimeout bpfLogFilters \
    bpfCTLBLogFilter bpfDataIfacePattern bpfL3IfacePattern bpfConnectTimeLoadBalancingEnabled \
    bpfConnectTimeLoadBalancing bpfHostNetworkedNATWithoutCTLB bpfExternalServiceMode bpfDSROptoutCIDRs \
    bpfExtToServiceConnmark bpfKubeProxyIptablesCleanupEnabled bpfKubeProxyMinSyncPeriod \
    bpfKubeProxyHealthzPort bpfPSNATPorts bpfMapSizeNATFrontend bpfMapSizeNATBackend bpfMapSizeNATAffinity \
    bpfMapSizeRoute bpfMapSizeConntrack bpfMapSizePerCpuConntrack bpfMapSizeConntrackScaling \
    bpfMapSizeConntrackCleanupQueue bpfMapSizeIPSets bpfMapSizeIfState bpfHostConntrackBypass \
    bpfIPFragmentReassemblyEnabled bpfEnforceRPF bpfPolicyDebugEnabled bpfForceTrackPacketsFromIfaces \
    bpfDisableGROForIfaces bpfExcludeCIDRsFromNAT bpfExportBufferSizeMB istioAmbientMode istioDSCPMark \
    cgroupV2Path flowLogsPolicyEvaluationMode bpfRedirectToPeer bpfAttachType flowLogsFlushInterval \
    flowLogsCollectorDebugTrace flowLogsGoldmaneServer flowLogsLocalReporter bpfProfiling routeSource \
    routeTableRanges routeTableRange routeSyncDisabled ipv4NormalRoutePriority ipv4ElevatedRoutePriority \
    ipv6NormalRoutePriority ipv6ElevatedRoutePriority liveMigrationRouteConvergenceTime wireguardEnabled \
    wireguardEnabledV6 wireguardThreadingEnabled wireguardListeningPort wireguardListeningPortV6 \
    wireguardRoutingRulePriority wireguardInterfaceName wireguardInterfaceNameV6 wireguardMTU \
    wireguardMTUV6 wireguardHostEncryptionEnabled wireguardKeepAlive awsSrcDstCheck serviceLoopPrevention \
    workloadSourceSpoofing mtuIfacePattern floatingIPs localSubnetL2Reachability \
    localSubnetL2ReachabilityRefreshInterval windowsManageFirewallRules goGCThreshold goMemoryLimitMB \
    goMaxProcs requireMTUFile bpfMaglevMaxEndpointsPerService bpfMaglevMaxServices";
