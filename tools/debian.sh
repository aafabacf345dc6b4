#!/usr/bin/env bash
# `tools/debian.sh PACKAGE...` installs the missing ones of Debian's or Ubuntu's packages, whose programs the tests start.
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
# Debian starts a package's server when it is installed; here only the tests start it
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
