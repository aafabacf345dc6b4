#!/usr/bin/env bash
# nginx and openssl, with which tests/security runs deploy/nginx: there already, or from Debian's or Ubuntu's packages.
set -euo pipefail

export PATH="$PATH:/usr/sbin"
if command -v nginx > /dev/null && [ -e /usr/lib/nginx/modules/ngx_http_js_module.so ] && command -v openssl > /dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "error: the tests need nginx and openssl; on Debian or Ubuntu: sudo apt-get install nginx-light libnginx-mod-http-js openssl" >&2
    exit 1
fi
echo "==> installing nginx-light and openssl"
# Debian's package starts the server at once; here it is wanted by the tests alone
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends nginx-light libnginx-mod-http-js openssl > /dev/null
