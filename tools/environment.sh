#!/usr/bin/env bash
# Set up .venv: `tools/environment.sh SET` installs requirements/SET.txt, exported from poetry.lock (tools/lock.sh), and
# this project, editable. It uses pip, so pip's index settings apply.
# Overridable: PYTHON, the interpreter to build the environment with.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 1
}

step() {
    echo "==> $*"
}

suits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' >/dev/null 2>&1
}

find_python() {
    if [[ -n ${PYTHON:-} ]]; then
        suits "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11 or 3.12 that runs"
        echo "$PYTHON"
        return
    fi
    for candidate in python3.12 python3.11 python3; do
        if suits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or 3.12 found (looked for python3.12, python3.11, python3); install one or set PYTHON=/path/to/python"
}

# make_environment FOLDER: a virtual environment with pip; Debian's Python may come without ensurepip
make_environment() {
    suits "$1/bin/python" && "$1/bin/python" -m pip --version >/dev/null 2>&1 && return
    local python
    python=$(find_python)
    step "$1: a virtual environment of $("$python" --version)"
    if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
        "$python" -m venv --clear "$1" || fail "$python -m venv $1 failed"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear --without-pip "$1" || fail "$python -m venv $1 failed"
        "$python" -m pip --python "$1/bin/python" install --quiet pip || fail "pip cannot be installed into $1"
    else
        fail "$python has neither ensurepip nor pip; on Debian: apt-get install python3-venv"
    fi
}

need_space() {
    local free
    free=$(df --output=avail -BM . | tail -1 | tr -dc '0-9')
    ((free >= $1 * 1000)) || fail "$PWD has $((free / 1000)) GB free, the environment needs $1 GB"
}

[[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] ||
    fail "this is $(uname -s) $(uname -m); the embedded Triton server runs on Linux x86_64 only"
command -v git >/dev/null || fail "git is not installed"
requirements=requirements/${1:-}.txt
[[ -f $requirements ]] || fail "usage: tools/environment.sh embedded|all"
[[ $1 == all ]] && gigabytes=9 || gigabytes=2
need_space $gigabytes

make_environment .venv
step ".venv: $requirements (needs $gigabytes GB with all downloads the first time)"
[[ -t 1 ]] && quiet=() || quiet=(--quiet) # pip's own progress is for a terminal
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Do not compile: Python compiles what it imports, which is far less than what is installed
.venv/bin/python -m pip install "${quiet[@]}" --no-compile --require-hashes -r "$requirements" ||
    fail "the packages cannot be installed; see pip's message above"

# yolov5 depends on opencv-python, which writes the same files as the headless wheel and needs the system's libGL. If the
# library is not that of the headless wheel, install that wheel again
if [[ $1 == all ]] && ! .venv/bin/python - <<'EOF'; then
import base64, hashlib, importlib.metadata

library, = (file for file in importlib.metadata.files("opencv-python-headless") if file.match("cv2/*.so"))
digest = hashlib.sha256(library.read_binary()).digest()
raise SystemExit(base64.urlsafe_b64encode(digest).decode().rstrip("=") != library.hash.value)
EOF
    step ".venv: opencv-python-headless over opencv-python"
    headless=$(mktemp)
    trap 'rm -f "$headless"' EXIT
    awk '/^[^ ]/ { wanted = /^opencv-python-headless==/ } wanted' "$requirements" >"$headless"
    .venv/bin/python -m pip install --quiet --require-hashes --no-deps --force-reinstall -r "$headless" ||
        fail "opencv-python-headless cannot be installed again"
fi

step ".venv: this project, editable"
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable . ||
    fail "the project cannot be installed into .venv"
