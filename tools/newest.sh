#!/usr/bin/env bash
# Tests the project beside the newest torch, OpenVINO, NumPy, OpenCV and tritonclient, whatever pyproject.toml bounds, in an
# environment of its own: out/newest (6 GB). It runs what needs no embedded server, and reads a picture with the same texts.
set -euo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1
new=out/newest/bin/python
[[ -x $new ]] || "${PYTHON:-.venv/bin/python}" -m venv out/newest
read -ra packages <<<"$(.venv/bin/python -c 'import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = [project["optional-dependencies"][name] for name in ("local", "convert", "onnx", "batch", "watch")]
print(*{re.match(r"[\w.-]+(\[[\w,]+\])?", each)[0] for each in sum(extras, project["dependencies"])})')"
echo "==> out/newest: the newest ${packages[*]}"
$new -m pip install --quiet --no-compile --upgrade --upgrade-strategy eager "${packages[@]}" \
    hatchling hypothesis matplotlib pytest pytest-timeout pyyaml scikit-image
$new -m pip install --quiet --no-deps --no-build-isolation --editable .
$new -m pip list | grep -E '^(numpy|onnxruntime|opencv-python-headless|openvino|torch|tritonclient) '

echo "==> what needs no server: networks, recognition, conversion"
$new -m pytest -q -m 'not slow and not deployed' tests/unit/networks tests/unit/recognition tests/converters
echo "==> out/scene.jpg, read in one process"
texts() {
    "$1" -m plate_nets read out/scene.jpg --local --json | grep -o '"text": *"[^"]*"'
}
expected=$(texts .venv/bin/python)
[[ $(texts "$new") == "$expected" ]] || { echo "error: the newest packages read other texts than $expected" >&2; exit 1; }
