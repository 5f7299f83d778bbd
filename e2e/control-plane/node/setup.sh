#!/bin/sh
# Installs what a real node runs, if the user may install packages. The node starts its own containerd; one of the machine may run or not.
set -eu

missing=
for program in containerd runc iptables ip; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ] || missing="$missing bridge"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "$0: a real node needs$missing, and this script needs root and Debian's apt-get to install them" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends containerd runc iptables iproute2 containernetworking-plugins >/dev/null
