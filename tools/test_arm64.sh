#!/usr/bin/env bash
# Runs the wheel on ARM64 under qemu, as the cores of a Raspberry Pi 5: Debian's Python, and the aarch64 wheels of all
# packages, in out/arm64 (900 MB). What reads in process must find in out/scene.jpg the texts that are found here.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/debian.sh qemu-user
folder=$PWD/out/arm64
debian=$folder/debian apt=$folder/apt packages=$folder/packages
wheel=$(ls -t dist/plate_nets-*.whl | head -1)

if [[ ! -e $debian/usr/bin/python3 ]]; then
    echo "==> Debian's Python for ARM64"
    mkdir -p "$debian" "$apt"/{state/lists,cache/archives}/partial
    : >"$apt/status"
    options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Install-Recommends=false
        -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" install --yes --download-only python3-minimal libpython3-stdlib libstdc++6 libgomp1 >/dev/null
    for package in "$apt"/cache/archives/*.deb; do dpkg --extract "$package" "$debian"; done
fi
python=$(readlink -f "$debian/usr/bin/python3")
version=${python##*/python}

if [[ $(cat "$folder/of" 2>/dev/null) != "$(sha256sum "$wheel")" ]]; then
    echo "==> the wheel and its packages for ARM64"
    rm -rf "$packages"
    platforms=(--platform manylinux2014_aarch64)
    for minor in {17..36}; do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --target "$packages" --only-binary=:all: \
        --implementation cp --python-version "$version" "${platforms[@]}" "$wheel[watch,web]"
    sha256sum "$wheel" >"$folder/of"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/plates-arm64-XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

# in float32: to time the other precisions takes too long under emulation
emulated() {
    (cd "$work" && exec env QEMU_CPU=cortex-a76 QEMU_LD_PREFIX="$debian" PYTHONPATH="$packages" PYTHONDONTWRITEBYTECODE=1 \
        PLATES_PRECISION=float32 OMP_NUM_THREADS=1 XDG_CACHE_HOME="$work/cache" qemu-aarch64 "$python" -m plate_nets "$@")
}

# texts: lines of JSON, with plates or events -> the texts in them
texts() {
    .venv/bin/python -c 'import json, sys
def texts(found):
    nested = found if isinstance(found, list) else found.get("pictures", found.get("plates"))
    if nested is None:
        return {found.get("text", found.get("plate"))}
    return {text for each in nested for text in texts(each)}
lines = sys.stdin.read().strip()
print(*sorted(texts(json.loads(lines if lines[:1] == "[" else "[" + ",".join(lines.splitlines()) + "]"))))'
}

same() {
    [[ $2 == "$expected" ]] || { printf 'error: %s: on ARM64 %s, here %s\n' "$1" "$2" "$expected" >&2; exit 1; }
    echo "==> $1: the same texts as here"
}

expected=$(.venv/bin/python -m plate_nets read --local out/scene.jpg --json | texts)
[[ -n $expected ]] || { echo "error: no text is read here" >&2; exit 1; }

echo "==> reading out/scene.jpg on ARM64, in some minutes for each command"
cp out/scene.jpg "$work/"
same "plates read" "$(emulated read --local scene.jpg --json | texts)"

.venv/bin/python - "$work/scene.jpg" "$work/scene.mp4" <<'PYTHON'
import sys
import cv2
picture = cv2.imread(sys.argv[1])
video = cv2.VideoWriter(sys.argv[2], cv2.VideoWriter_fourcc(*"mp4v"), 2, picture.shape[1::-1])
for _ in range(4):
    video.write(picture)
video.release()
PYTHON
emulated watch scene.mp4 --local --jsonl events.jsonl >/dev/null
same "plates watch" "$(texts <"$work/events.jsonl")"

emulated web --local --port 18080 >"$work/web.log" 2>&1 &
for _ in {1..600}; do curl --silent --fail http://127.0.0.1:18080/health >/dev/null && break; sleep 2; done
same "plates web" "$(curl --silent --fail --form upload=@out/scene.jpg http://127.0.0.1:18080/api/v1/plates | texts)"
