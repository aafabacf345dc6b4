#!/usr/bin/env bash
# `tools/image.sh [BASE [DEVICE]]` builds the image plate-nets with $ENGINE (tools/engine.sh): on NVIDIA's base, on another
# one, or on the stand-in of the tests (`standin`); for the CPU, or with torch (`gpu`).
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:-}
device=${2:-cpu}
[[ $device == cpu ]] && suffix= latest=latest || suffix=-$device latest=$device
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
if [[ $base == standin ]]; then
    deploy/standin/build.sh
    base=plate-nets-standin
fi
settings=$(mktemp -d)
trap 'rm -rf "$settings"' EXIT
"${PYTHON:-python3}" tools/pip_settings.py "$settings"
"$ENGINE" build . \
    ${base:+--build-arg "BASE=$base"} --build-arg "DEVICE=$device" --build-arg "VERSION=$version" \
    --secret "id=pip.conf,src=$settings/pip.conf" --secret "id=authorities.pem,src=$settings/authorities.pem" \
    --tag "plate-nets:$version$suffix" --tag "plate-nets:$latest"
