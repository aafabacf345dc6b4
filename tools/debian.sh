#!/usr/bin/env bash
# `tools/debian.sh PACKAGE...` installs those of Debian's or Ubuntu's packages that are not there; what the tests start for real.
set -euo pipefail

missing=()
for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0
if (($(id -u))) || ! command -v apt-get >/dev/null; then
    echo "error: the tests need ${missing[*]}; on Debian or Ubuntu: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "==> installing ${missing[*]}"
# Debian's packages start their servers at once; here they are wanted by the tests alone
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
