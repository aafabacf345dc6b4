#!/usr/bin/env bash
# `tools/engine.sh [--install] COMMAND...` runs a command with the container engine in ENGINE: docker or podman, whichever
# answers. If none does and you are root, it starts Debian's docker daemon for as long as the command runs; the daemon
# keeps its images in .engine. --install installs that docker first.
set -euo pipefail
cd "$(dirname "$0")/.."

install=
if [[ ${1:-} == --install ]]; then
    install=yes
    shift
fi
[[ -z ${ENGINE:-} ]] || exec "$@" # another engine.sh has set it already

# Debian's client builds with BuildKit; another one on PATH may need a plugin for that
DEBIANS=/usr/bin/docker
most=$(ulimit -Hn) # open files of a process: a user who may not raise this limit cannot start a container with a higher one
run=

stop() {
    [[ -z $run ]] || kill "$daemon" 2>/dev/null || true
    wait
    rm -rf "$run" "${settings:-}"
}
trap stop EXIT

export DOCKER_BUILDKIT=1
if docker info >/dev/null 2>&1; then
    export ENGINE=docker
elif podman info >/dev/null 2>&1; then
    export ENGINE=podman
    settings=$(mktemp)
    # 32768 is podman's default limit of processes, which is lost once default_ulimits is set
    printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=32768:32768"]\n' "$most" "$most" >"$settings"
    export CONTAINERS_CONF=$settings BUILDAH_FORMAT=docker
else
    [[ -z $install ]] || tools/debian.sh docker.io
    if (($(id -u))) || [[ ! -x $DEBIANS ]] || ! command -v dockerd >/dev/null; then
        echo "error: neither docker nor podman answers; start one, or on Debian as root: apt-get install docker.io" >&2
        exit 1
    fi
    run=$(mktemp -d /run/plate-nets-XXXXXX)
    export ENGINE=$DEBIANS DOCKER_HOST=unix://$run/socket
    dockerd --data-root "$PWD/.engine" --exec-root "$run/exec" --pidfile "$run/pid" --host "$DOCKER_HOST" \
        --default-ulimit "nofile=$most:$most" >"$run/log" 2>&1 &
    daemon=$!
    for ((tries = 0; tries < 120; tries++)); do
        "$ENGINE" info >/dev/null 2>&1 && break
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.5
    done
    if ! "$ENGINE" info >/dev/null 2>&1; then
        echo "error: Debian's docker does not start: $(grep -v level=info "$run/log" | tail -1)" >&2
        exit 1
    fi
fi
"$@"
