#!/usr/bin/env bash
# Installs the wheel with `embedded`, then each other extra after it, and all of them at once, each in an environment of
# its own, and has the embedded server read out/scene.jpg: the answer must stay the same. It needs 10 GB.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d "${TMPDIR:-/tmp}/plates-extras-XXXXXX")
trap 'rm -rf "$folder"' EXIT
wheel=$(ls -t dist/plate_nets-*.whl | head -1)

# texts EXTRAS...: install the wheel with these extras, one command each -> the texts that the server reads
texts() {
    rm -rf "$folder/environment"
    "${PYTHON:-.venv/bin/python}" -m venv "$folder/environment"
    for extras in "$@"; do
        "$folder/environment/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel[$extras]" >&2
    done
    "$folder/environment/bin/python" -c 'from plate_nets.triton.server.installation import wheel; wheel()'
    (cd "$folder" && environment/bin/python -m plate_nets read "$OLDPWD/out/scene.jpg" --json) |
        grep -o '"text": *"[^"]*"' | sort
}

expected=$(texts embedded)
[[ -n $expected ]] || { echo "error: the embedded server reads no text" >&2; exit 1; }
read -ra others <<<"$(.venv/bin/python -c 'import sys, tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"].keys() - {"embedded"})')"
all=$(IFS=,; echo "embedded,${others[*]}")
for extra in "${others[@]}"; do
    for order in "embedded $extra" "$extra embedded"; do
        echo "==> $order"
        # shellcheck disable=SC2086  # one command each
        [[ $(texts $order) == "$expected" ]] || { echo "error: $order: another answer" >&2; exit 1; }
    done
done
echo "==> $all"
[[ $(texts "$all") == "$expected" ]] || { echo "error: all at once: another answer" >&2; exit 1; }
