#!/usr/bin/env bash
# Set up .venv: `tools/environment.sh SET` installs requirements/SET.txt, exported from poetry.lock (tools/lock.sh), and
# this project, editable. It uses pip, so pip's index settings apply.
# Where no embedded server can be had, `embedded` becomes the extra `local`, which is not locked, and .venv/local says why.
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

# suits PYTHON: whether it runs, and is new enough; with an embedded server, also old enough
suits() {
    "$1" -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, ${before:-99}))" >/dev/null 2>&1
}

find_python() {
    if [[ -n ${PYTHON:-} ]]; then
        suits "$PYTHON" || fail "PYTHON=$PYTHON is not a Python $versions that runs"
        echo "$PYTHON"
        return
    fi
    for candidate in python3.12 python3.11 python3 python3.14 python3.13; do
        if suits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python $versions found (looked for python3.11 to python3.14, python3); install one or set PYTHON=/path/to/python"
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
    free=$(df -Pk . | awk 'END { print int($4 / 1000000) }')
    ((free >= $1)) || fail "$PWD has $free GB free, the environment needs $1 GB"
}

command -v git >/dev/null || fail "git is not installed"
requirements=requirements/${1:-}.txt
[[ -f $requirements ]] || fail "usage: tools/environment.sh embedded|all"
before=13 versions="3.11 or 3.12" why=
if [[ $(uname -s) != Linux || $(uname -m) != x86_64 ]]; then
    why="this is $(uname -s) $(uname -m); the embedded Triton server runs on Linux x86_64 only"
elif [[ $1 == embedded ]] && ! suits .venv/bin/python && ! (find_python) >/dev/null 2>&1; then
    why="no Python 3.11 or 3.12 was found, and the embedded Triton server runs on no newer one"
fi
[[ $1 != all || -z $why ]] || fail "$why"
[[ -z $why ]] || before='' versions="3.11 or newer"
[[ $1 == all ]] && gigabytes=9 || gigabytes=2
need_space $gigabytes

export PIP_DISABLE_PIP_VERSION_CHECK=1
make_environment .venv
if [[ -n $why ]]; then
    step ".venv: this project with the extra local, without a server: $why"
    .venv/bin/python -m pip install --quiet --editable '.[local]' hatchling ||
        fail "the packages cannot be installed; see pip's message above"
    echo "$why" >.venv/local
    exit
fi
rm -f .venv/local
step ".venv: $requirements (needs $gigabytes GB with all downloads the first time)"
[[ -t 1 ]] && quiet=() || quiet=(--quiet) # pip's own progress is for a terminal
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
