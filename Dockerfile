# The pipeline in a Triton with Python: on the CPU by OpenVINO, with `--build-arg DEVICE=gpu` on a GPU by libtorch.
# `make image` builds it; docs/how-to/containers.md says how, and how to pin the digest of the base.
ARG BASE=nvcr.io/nvidia/tritonserver:26.11-py3
ARG DEVICE=cpu

# hadolint ignore=DL3026
FROM ${BASE} AS triton

FROM triton AS build
ARG DEVICE
# pip's settings are mounted from the machine that builds, and stay in no layer
ENV PIP_CONFIG_FILE=/run/secrets/pip.conf PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

# The part of poetry.lock that the image needs. The base's Python has pip, but perhaps no ensurepip
COPY requirements/image-${DEVICE}.txt requirements/
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=authorities.pem \
    python3 -m venv --without-pip /opt/plates \
    && python3 -m pip --python /opt/plates/bin/python install --require-hashes -r requirements/image-${DEVICE}.txt

# The networks are converted and compared; with torch, also for libtorch.
# The tests that packages bring are removed
COPY pyproject.toml README.md LICENSE ./
COPY tools/hatch_build.py tools/
COPY converters converters
COPY model_repository model_repository
COPY plate_nets plate_nets
RUN python3 -m pip --python /opt/plates/bin/python install --no-deps --no-build-isolation . \
    && ln -s "$(/opt/plates/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" /opt/plates/packages \
    && mv /opt/plates/packages/plate_nets/model_repository /opt/plates/ \
    && /opt/plates/bin/python -m converters --model-repository /opt/plates/model_repository \
    && find /opt/plates -type d -name tests -prune -exec rm -r {} +

FROM triton AS gpu

FROM triton AS cpu
# Triton prefers a backend's library to its model.py
RUN rm -rf /opt/tritonserver/backends/pytorch
COPY plate_nets/triton/backend/backends/pytorch/model.py /opt/tritonserver/backends/pytorch/

# hadolint ignore=DL3006,DL3026
FROM ${DEVICE}
ARG VERSION=unknown
LABEL org.opencontainers.image.title="plate-nets" \
      org.opencontainers.image.description="Licence-plate recognition served by NVIDIA Triton" \
      org.opencontainers.image.licenses="AGPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /opt/plates /opt/plates

# The Python backend's stubs embed Python and find the packages by VIRTUAL_ENV; those of 24.10 ignore PYTHON* variables
ENV VIRTUAL_ENV=/opt/plates \
    PATH=/opt/plates/bin:${PATH} \
    PYTHONPATH=/opt/plates/packages \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_WAIT_POLICY=PASSIVE \
    MALLOC_MMAP_THRESHOLD_=33554432 \
    MALLOC_TRIM_THRESHOLD_=67108864 \
    PLATES_MODEL_REPOSITORY=/opt/plates/model_repository

# By number, so that `runAsNonRoot` can be proven; NVIDIA's image calls this user triton-server
USER 1000:1000
WORKDIR /tmp
EXPOSE 8000 8001 8002 8003

# The supervisor answers 200 only while a known picture is read
HEALTHCHECK --interval=30s --timeout=20s --start-period=120s --retries=3 \
    CMD ["plates", "health", "--supervisor", "127.0.0.1:8003"]
# NVIDIA's entry point checks the driver, and then runs this
CMD ["plates", "serve", "--server", "system", "--address", "0.0.0.0", "--log", "-"]
