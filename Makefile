# `make` or `make help` lists the targets. Overridable: PYTHON=/path/to/python, PHOTO=car.jpg.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

export PYTHON
unexport PYTHONDONTWRITEBYTECODE # with it, each process would compile all its imports again
BIN := .venv/bin
REPOSITORY := model_repository
NETWORKS := yolo yolo_fast corners stn lprnet lprnet_latin lprnet_scripts country
IR := $(patsubst %,$(REPOSITORY)/%/model.xml,yolo/1 yolo/1/yolo_fast yolo/1/corners stn/1 lprnet/1 lprnet_latin/1 lprnet_scripts/1 country/1)
TORCHSCRIPT := $(IR:.xml=.pt)
MODELS := $(IR) $(TORCHSCRIPT)
CONVERSION := $(wildcard plate_nets/networks/conversion/*.py plate_nets/networks/conversion/graphs/*.py plate_nets/networks/*.py)
WEIGHTS := $(NETWORKS:%=plate_nets/weights/%.safetensors)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
PHOTO ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: photo .venv/embedded.stamp $(IR) $(if $(PHOTO),,out/scene.jpg) ## set up, then read the demo picture, or yours: make demo PHOTO=car.jpg
	@if [[ -e .venv/local ]]; \
	    then how=--local; echo "==> reading $(or $(PHOTO),out/scene.jpg) in one process (--local): $$(cat .venv/local)"; \
	    else how=; echo "==> reading $(or $(PHOTO),out/scene.jpg) with the embedded Triton server"; fi; \
	$(BIN)/python -m plate_nets read "$(or $(PHOTO),out/scene.jpg)" $$how --save-annotated out

.PHONY: photo
photo:
	@test -z "$(PHOTO)" || test -e "$(PHOTO)" || { echo "make demo: PHOTO: no such file: $(PHOTO)" >&2; exit 2; }

.PHONY: demo-video
demo-video: .venv/all.stamp $(IR) ## set up, render cars that drive by, watch them, write the annotated video: out/demo_plates.mp4
	@rm -f out/demo.events.jsonl
	@mkdir -p out
	@echo "==> rendering cars that drive by: out/demo.mp4"
	@$(BIN)/python -m training.synthesis --drive-by out/demo.mp4 --cars 3 --seed 3
	@echo "==> watching them; the annotated video is out/demo_plates.mp4"
	@$(BIN)/python -m plate_nets watch out/demo.mp4 --local --save-video out/demo_plates.mp4 --jsonl out/demo.events.jsonl --outbox out/demo.sqlite
	@echo "==> a moment of each car: out/demo_moments.jpg"
	@$(BIN)/python tools/moments.py out/demo_plates.mp4 out/demo.events.jsonl out/demo_moments.jpg

.PHONY: pictures
pictures: demo demo-video programs ## make the pictures of the demo and of the page again: docs/images
	@$(BIN)/python tools/pictures.py

.PHONY: convert
convert: .venv/all.stamp $(MODELS) ## set up, then convert the networks for the CPU and, with torch, for every device
# Packages of Debian or Ubuntu with the programs that the tests start.
DEBIAN := nginx-light libnginx-mod-http-js openssl prometheus chromium strace iproute2 mosquitto \
	fontconfig fonts-noto-core fonts-noto-cjk fonts-nanum \
	gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good gstreamer1.0-plugins-bad python3-gi
WORKERS ?= 3
TESTS ?= not soak and not image
CONTAINER := tests/image/test_image.py -k 'privileges or health_check'
SIDE_BY_SIDE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: programs
programs:
	-@tools/debian.sh $(DEBIAN) # without them, only the tests that need them fail

.PHONY: test
test: .venv/all.stamp $(MODELS) out/scene.jpg programs ## set up with the developer tools, then run every test: 10 to 25 minutes on two cores
	@echo "==> the tests, in $(WORKERS) processes"
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m '$(TESTS) and not alone'
	@echo "==> those that need the machine for themselves"
	@$(BIN)/python -m pytest -m '$(TESTS) and alone' $$(grep -rl mark.alone tests)
	@if tools/engine.sh sh -c '$$ENGINE image inspect plate-nets-standin' >/dev/null 2>&1; \
	    then echo "==> a container of the image"; tools/engine.sh tools/test_image.sh $(CONTAINER); \
	    else echo "==> no container: no engine answers, or make test-image has not made the base of the image yet"; fi

.PHONY: test-fast
test-fast: .venv/all.stamp $(MODELS) ## the tests without a server, a training or whole videos: 1 to 4 minutes on two cores
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m '$(TESTS) and not slow'

.PHONY: test-extras
test-extras: wheel out/scene.jpg ## each extra installed before and after `embedded`, and all at once: the server still reads; each night
	@tools/test_extras.sh

.PHONY: newest
newest: .venv/embedded.stamp $(IR) out/scene.jpg ## the tests without a server beside the newest torch, OpenVINO, NumPy, OpenCV and tritonclient: 6 GB
	@tools/newest.sh

.PHONY: test-homeassistant
test-homeassistant: .venv/all.stamp programs ## Home Assistant's own schemas check what MQTT announces and the blueprint: its package in out/homeassistant, 0.3 GB
	@tools/test_homeassistant.sh

MINUTES ?= 60
ROUNDS ?= 20
TIMES ?= 30

.PHONY: soak
soak: .venv/all.stamp $(MODELS) programs ## what other tests do in a short form in full length, over four hours: make soak MINUTES=60 ROUNDS=20
	@echo "==> full load and odd inputs for $(MINUTES) minutes each, every process killed $(ROUNDS) times, and more"
	@PLATES_SOAK_MINUTES=$(MINUTES) PLATES_SOAK_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest tests -m 'soak and not image'

ATTACKS := $(addprefix tests/faults/test_,page.py sinks.py reach.py)

.PHONY: attacks
attacks: .venv/all.stamp $(MODELS) programs ## repeat what broke 0.3.0, beside a well-behaved client that must not notice: make attacks TIMES=30
	@PLATES_SOAK_TIMES=$(TIMES) $(BIN)/python -m pytest $(ATTACKS) -m soak -k over_and_over

.PHONY: bench
bench: .venv/all.stamp $(MODELS) ## measure docs/explanation/performance.md again, and write it, its CSV files and plots: 12 minutes on an idle machine
	@$(BIN)/python -m benchmarks --targets --variants --stages --seconds 4 --json out/bench/targets.json
	@$(BIN)/python -m benchmarks --input encoded --input raw --input shm --seconds 2 --json out/bench/loads.json
	@$(BIN)/python -m benchmarks --variants --concurrency 1,4,8 --input encoded --input raw --seconds 1.2 --json out/bench/variants.json
	@$(BIN)/python -m benchmarks --plates 1 --rate 15 --seconds 10 --json out/bench/open_load.json
	@$(BIN)/python -m benchmarks --overload --plates 1 --seconds 10 --json out/bench/overload.json
	@$(BIN)/python -m benchmarks --networks --seconds 4 --json out/bench/networks.json
	@$(BIN)/python -m benchmarks.detector --json out/bench/detector.json
	@$(BIN)/python -m benchmarks.report out/bench docs/explanation/performance.md

.PHONY: check
check: .venv/all.stamp ## linters, types, lock, Dockerfile, YAML, Kubernetes, the site of the docs
	@echo "==> ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> mypy, and outside triton/ as on Windows too"
	@$(BIN)/mypy
	@! { $(BIN)/mypy --platform win32 --cache-dir .mypy_cache/windows plate_nets || true; } | \
	    grep '^plate_nets/' | grep -v '^plate_nets/triton/' >&2
	@echo "==> poetry.lock, requirements"
	@tools/lock.sh --check
	@echo "==> hadolint, yamllint"
	@$(BIN)/hadolint Dockerfile
	@$(BIN)/yamllint --strict .
	@echo "==> Kubernetes' manifests, the chart"
	@$(BIN)/python -m pytest -q --no-header --durations=0 tests/packaging/test_kubernetes.py tests/packaging/test_helm.py
	@$(MAKE) --no-print-directory docs

.PHONY: docs
docs: .venv/all.stamp ## build the site of the docs, which needs no network to be read: out/site/index.html
	@echo "==> the site: out/site/index.html"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

BASE ?=
DEVICE ?= cpu

.PHONY: image
image: $(if $(filter standin,$(BASE)),.venv/embedded.stamp) ## build the container image on NVIDIA's base; for a GPU: make image DEVICE=gpu
	@tools/engine.sh tools/image.sh "$(BASE)" $(DEVICE)

.PHONY: test-image
test-image: .venv/all.stamp $(MODELS) out/scene.jpg ## build the image on a stand-in for NVIDIA's base, and run the served and fault tests against its container
	@tools/engine.sh --install tools/test_image.sh

.PHONY: arm64
arm64: wheel out/scene.jpg ## read with the wheel on ARM64 under qemu, as on a Raspberry Pi 5: the texts must be those of this machine; 10 minutes
	@tools/test_arm64.sh

.PHONY: gpu-check
gpu-check: DEVICE = gpu
gpu-check: .venv/all.stamp $(MODELS) out/scene.jpg ## prove the image on a machine with a GPU: out/gpu-check/report.md; DEVICE=cpu rehearses it
	@$(if $(filter cpu,$(DEVICE)),,tools/engine.sh) $(BIN)/python -m benchmarks.gpu_check --device "$(DEVICE)" --base "$(BASE)"

.PHONY: sbom
sbom: .venv/all.stamp ## list the packages of the image in CycloneDX, with their hashes: dist/plate-nets-cpu.cdx.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements --pyproject <(sed '/^\[tool\./,$$d' pyproject.toml) --output-reproducible \
	    --output-file dist/plate-nets-$(DEVICE).cdx.json requirements/image-$(DEVICE).txt

.PHONY: wheel
wheel: .venv/embedded.stamp ## build the wheel: dist/*.whl, with the model repository and the networks for the CPU
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

.PHONY: sdist
sdist: .venv/all.stamp ## build the source archive, from which pip makes the wheel: dist/*.tar.gz
	@$(BIN)/python -c 'from hatchling.build import build_sdist; print("dist/" + build_sdist("dist"))'

.PHONY: clean
clean: ## remove everything that make built: environments, converted models, out/, caches
	rm -rf .venv .tools .engine out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	rm -f $(MODELS) $(IR:.xml=.bin) $(IR:.xml=.onnx) $(IR:.xml=.pt2) $(IR:model.xml=config.torch_aoti.pbtxt)
	find plate_nets converters training benchmarks tests $(REPOSITORY) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: lock
lock: .venv/embedded.stamp ## write requirements/ again from poetry.lock, which `.tools/bin/poetry lock` makes from pyproject.toml
	@tools/lock.sh

.venv/embedded.stamp: requirements/embedded.txt pyproject.toml tools/environment.sh
	@tools/environment.sh embedded
	@touch $@

.venv/all.stamp: requirements/all.txt pyproject.toml tools/environment.sh
	@tools/environment.sh all
	@touch $@ .venv/embedded.stamp

$(IR) &: $(WEIGHTS) $(CONVERSION) | .venv/embedded.stamp
	@echo "==> converting the networks"
	@$(BIN)/python -m converters
	@touch $(IR)

$(TORCHSCRIPT) &: $(WEIGHTS) $(CONVERSION) | .venv/all.stamp $(IR)
	@echo "==> tracing the networks"
	@$(BIN)/python -m converters
	@touch $(TORCHSCRIPT)

out/scene.jpg: Makefile $(wildcard training/synthesis/*.py training/synthesis/*.toml training/synthesis/layouts/*.py plate_nets/countries/*) | .venv/embedded.stamp
	@echo "==> drawing a street scene: $@"
	@mkdir -p out
	@$(BIN)/python -m training.synthesis --scene $@ --scheme brazil,germany,russia,united_states --plates 4 --reach 14 --seed 144
