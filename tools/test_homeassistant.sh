#!/usr/bin/env bash
# Asks Home Assistant's own schemas, in an environment of its own (out/homeassistant), whether they accept what our MQTT
# sink announces and the blueprint.
set -euo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1
theirs=out/homeassistant/bin/python
[[ -x $theirs ]] || "${PYTHON:-.venv/bin/python}" -m venv out/homeassistant
echo "==> out/homeassistant: $(grep '^homeassistant==' tools/homeassistant.txt)"
# Without the 20 further packages that it names, of which some have no wheel
$theirs -m pip install --quiet --no-compile --no-deps --only-binary :all: --requirement tools/homeassistant.txt
.venv/bin/python -m pytest tests/unit/events/sinks/home_assistant.py
