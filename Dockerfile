# The pipeline in NVIDIA's Triton, with its libtorch backend; a GPU is used where the container has one.
# Pinned by tag; the digest was not at hand where this was written. To pin it too: docker buildx imagetools inspect IMAGE
FROM nvcr.io/nvidia/tritonserver:26.07-py3 AS triton

FROM triton AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

# The extras `local` and `convert` as poetry.lock has them; the image's Python has pip, but perhaps no ensurepip
COPY requirements/image.txt requirements/
RUN python3 -m venv --without-pip /opt/plates \
    && python3 -m pip --python /opt/plates/bin/python install --require-hashes -r requirements/image.txt

COPY pyproject.toml README.md LICENSE ./
COPY tools/hatch_build.py tools/
COPY model_repository model_repository
COPY plate_nets plate_nets
RUN python3 -m pip --python /opt/plates/bin/python install --no-deps --no-build-isolation .

# For libtorch too, compared with the networks before they are put there
COPY converters converters
RUN cp -r model_repository /opt/plates/ \
    && /opt/plates/bin/python -m converters --model-repository /opt/plates/model_repository

FROM triton
ARG VERSION=unknown
LABEL org.opencontainers.image.title="plate-nets" \
      org.opencontainers.image.description="Licence-plate recognition served by NVIDIA Triton" \
      org.opencontainers.image.licenses="AGPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /opt/plates /opt/plates

# The Python backend's stubs embed Python, and find the packages by these
ENV VIRTUAL_ENV=/opt/plates \
    PATH=/opt/plates/bin:${PATH} \
    PYTHONPATH=/opt/plates/lib/python3.12/site-packages \
    PYTHONDONTWRITEBYTECODE=1 \
    MPLCONFIGDIR=/tmp \
    OMP_WAIT_POLICY=PASSIVE \
    MALLOC_MMAP_THRESHOLD_=33554432 \
    MALLOC_TRIM_THRESHOLD_=67108864 \
    PLATES_MODEL_REPOSITORY=/opt/plates/model_repository

# By number, so that `runAsNonRoot` can be proven; NVIDIA's image calls this user triton-server
USER 1000:1000
WORKDIR /tmp
EXPOSE 8000 8001 8002 8003

# The supervisor answers 200 only while a known picture is really read
HEALTHCHECK --interval=30s --timeout=20s --start-period=120s --retries=3 \
    CMD ["plates", "health", "--supervisor", "127.0.0.1:8003"]
# Beside NVIDIA's entry point, which looks after the driver and then becomes this
CMD ["plates", "serve", "--server", "system", "--address", "0.0.0.0", "--log", "-"]
