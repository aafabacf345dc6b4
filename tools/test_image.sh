#!/usr/bin/env bash
# What `make test-image` does with $ENGINE (tools/engine.sh): build the image on the stand-in, and have the tests run it.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/debian.sh docker-compose prometheus
tools/image.sh standin
export PLATES_IMAGE=plate-nets
select='(deployed or image) and not soak'
echo "==> the tests, against containers of the image"
.venv/bin/python -m pytest -n "${WORKERS:-2}" --dist loadfile --no-loadscope-reorder -m "$select and not alone"
.venv/bin/python -m pytest -m "$select and alone"
