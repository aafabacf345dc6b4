#!/usr/bin/env bash
# `tools/test_image.sh [TEST...]` with $ENGINE (tools/engine.sh): build the image on the stand-in, and have these tests run
# it, or all that `make test-image` is for.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/image.sh standin
export PLATES_IMAGE=plate-nets
if (($#)); then
    exec .venv/bin/python -m pytest -m image "$@"
fi
tools/debian.sh docker-compose prometheus
select='(deployed or image) and not soak'
[[ ${ENGINE##*/} == podman ]] || select+=' and not podman'
echo "==> the tests, against containers of the image"
.venv/bin/python -m pytest -n "${WORKERS:-2}" --dist loadfile --no-loadscope-reorder -m "$select and not alone"
.venv/bin/python -m pytest -m "$select and alone" $(grep -rl mark.alone tests)
