#!/usr/bin/env bash
# Exports poetry.lock to requirements/*.txt, which pip installs without Poetry. `tools/lock.sh --check` changes nothing: it
# fails if the lock does not match pyproject.toml, or a file does not match the lock. Poetry is installed in .tools.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A options=(
    [embedded]="--extras embedded --with build"
    [image-cpu]="--extras web --with build" # it has its own tritonserver
    [image-gpu]="--extras web --extras convert --with build"
    [all]="--all-extras --with build,train,dev"
)

if [[ ! .tools/bin/poetry -nt requirements/poetry.txt ]]; then
    "${PYTHON:-.venv/bin/python}" -m venv --clear .tools
    .tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/poetry.txt
    touch .tools/bin/poetry
fi
.tools/bin/poetry check --lock --quiet
for name in "${!options[@]}"; do
    file=requirements/$name.txt
    # shellcheck disable=SC2086  # several words
    exported=$(.tools/bin/poetry export --no-interaction ${options[$name]} -f requirements.txt)
    if [[ ${1:-} != --check ]]; then
        echo "$exported" >"$file"
    elif [[ $exported != "$(<"$file")" ]]; then
        echo "error: $file does not match poetry.lock; run \`make lock\`" >&2
        exit 1
    fi
done
