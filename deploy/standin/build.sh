#!/usr/bin/env bash
# Makes plate-nets-standin with $ENGINE (tools/engine.sh): ONLY FOR TESTS, on machines that cannot get NVIDIA's image.
# Debian 12 in the layout of that image, with the tritonserver of the nvidia-pytriton wheel, release 24.10, which lacks the
# security fixes of 2025 and 2026. Its packages come from where mmdebstrap finds them, the server from .venv.
set -euo pipefail
cd "$(dirname "$0")/../.."

image=plate-nets-standin
python=3.11 # Debian 12's
label=recipe=$(sha256sum "$0" requirements/embedded.txt | sha256sum | cut --characters=1-16)
if "$ENGINE" image inspect "$image" 2>/dev/null | grep -qF "${label#*=}"; then
    exit
fi
tools/debian.sh mmdebstrap
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
triton=$packages/pytriton/tritonserver

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir --parents "$tree"/opt/{nvidia,tritonserver}
cat >"$tree/opt/nvidia/nvidia_entrypoint.sh" <<'EOF'
#!/bin/sh
# NVIDIA's entry point checks the driver here
exec "$@"
EOF
chmod 755 "$tree/opt/nvidia/nvidia_entrypoint.sh"
cp -r "$triton"/{bin,backends,caches} "$tree/opt/tritonserver/"
cp "$triton/python_backend_stubs/$python/triton_python_backend_stub" "$tree/opt/tritonserver/backends/python/"
cp -r "$packages/nvidia_pytriton.libs" "$tree/opt/tritonserver/lib"

echo "==> $image: Debian 12 with the tritonserver of the wheel, for tests alone"
mmdebstrap --quiet --variant=minbase --include="libpython$python,python3,python3-pip" \
    --customize-hook="copy-in $tree/opt /" \
    --customize-hook='chroot "$1" useradd --uid 1000 triton-server' \
    bookworm - |
    "$ENGINE" import \
        --change "LABEL $label" \
        --change 'ENV PATH=/opt/tritonserver/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'ENV LD_LIBRARY_PATH=/opt/tritonserver/lib' \
        --change 'ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh"]' \
        - "$image"
