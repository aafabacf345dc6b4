#!/usr/bin/env bash
# `tools/test_image.sh [TEST...]` builds the image on the stand-in with $ENGINE (tools/engine.sh), and runs these tests on
# it, or all tests of `make test-image`.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/image.sh standin
export PLATES_IMAGE=plate-nets
if (($#)); then
    exec .venv/bin/python -m pytest -m image "$@"
fi
select='(deployed or image) and not soak'
packages=(docker-compose prometheus)
if [[ ${ENGINE##*/} == podman ]]; then
    packages+=(aardvark-dns) # containers need it to find each other by name
    run=$(mktemp -d)
    trap 'kill "$service"; rm -rf "$run"' EXIT
    export DOCKER_HOST=unix://$run/socket # docker-compose talks to podman as it does to docker
    "$ENGINE" system service --time 0 "$DOCKER_HOST" 2>"$run/log" &
    service=$!
else
    select+=' and not podman'
fi
tools/debian.sh "${packages[@]}"
echo "==> the tests, against containers of the image"
.venv/bin/python -m pytest -n "${WORKERS:-2}" --dist loadfile --no-loadscope-reorder -m "$select and not alone"
.venv/bin/python -m pytest -m "$select and alone" $(grep -rl mark.alone tests)
