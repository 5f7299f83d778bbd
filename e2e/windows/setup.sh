#!/bin/sh
# Installs what some tests need, if the user may install packages: Wine, to run kube-proxy for Windows, mingw, to compile the DLLs
# that it loads, and skopeo, to read the image back. Otherwise these tests are reported as skipped.
set -eu

if [ -x /usr/lib/wine/wine64 ] && command -v x86_64-w64-mingw32-gcc >/dev/null && command -v skopeo >/dev/null; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "$0: needs root and Debian's apt-get; the tests with Windows' own kube-proxy and with skopeo are skipped without them" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends wine64 gcc-mingw-w64-x86-64 skopeo >/dev/null
