#!/bin/sh
# Process 1 of a real node: containerd, kube-proxy and the kubelet in namespaces of their own, started again when they end, as
# systemd does it. Nothing of the machine changes but the cgroup: mounts, interfaces, processes and files end with this process.
#
# node.sh NAME CGROUP FOLDER PROGRAMS: FOLDER has configuration and kubeconfigs and receives the logs, PROGRAMS has kubelet and kube-proxy.
set -eu
name=$1 cgroup=$2 folder=$3 programs=$4
here=$(dirname "$0")

mount -t tmpfs node /run
mkdir -p /run/var/upper /run/var/work /run/sysctl /run/cni/net.d
# CNI and the kubelet write to a few places below /var that cannot be configured.
mount -t overlay -o lowerdir=/var,upperdir=/run/var/upper,workdir=/run/var/work node /var

# A kubelet requires these settings of the kernel, which are those of the whole machine. It reads a file of this node's instead.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=/run/sysctl/$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
done

# The API server's address as its EndpointSlice has it, and the node's. Both are of TEST-NET-1 of RFC 5737.
ip link set lo up
ip address add 192.0.2.10/32 dev lo
ip address add 192.0.2.11/32 dev lo
# The node reaches Services, too: without a route, a packet to a ClusterIP is refused before kube-proxy's rules see it.
ip route add 10.96.0.0/12 dev lo src 192.0.2.11

for plugins in /usr/lib/cni /opt/cni/bin; do
    [ ! -x "$plugins/bridge" ] || ln -sfn "$plugins" /run/cni/bin
done
cp "$here/bridge.conflist" /run/cni/net.d/

# Runs a program for ever. Its log and, for `kill`, its pid have its name.
run() {
    service=$1
    shift
    while :; do
        "$@" >>"$folder/$service.log" 2>&1 &
        echo $! >"/run/$service.pid"
        wait $! || true
        sleep 1
    done
}

run containerd containerd --config "$here/containerd.toml" &
run kube-proxy "$programs/kube-proxy" --kubeconfig="$folder/kube-proxy.kubeconfig" --hostname-override="$name" \
    --proxy-mode=iptables --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 \
    --conntrack-tcp-timeout-close-wait=0 &
until [ -S /run/containerd/containerd.sock ]; do sleep 0.1; done
run kubelet "$programs/kubelet" --config="$here/kubelet.yaml" --kubeconfig="$folder/kubelet.kubeconfig" \
    --hostname-override="$name" --node-ip=192.0.2.11 --cgroup-root="$cgroup" --root-dir=/run/kubelet \
    --cert-dir=/run/kubelet/pki &
echo "the node's programs run"
wait
