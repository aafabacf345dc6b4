# `make` or `make help` lists what there is. Overridable: PYTHON=/path/to/python, PHOTO=car.jpg.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

export PYTHON
BIN := .venv/bin
REPOSITORY := model_repository
MODELS := $(foreach name,stn lprnet yolo,$(addprefix $(REPOSITORY)/$(name)/1/,model.pt model.xml))
WEIGHTS := $(addprefix plate_nets/weights/,stn.safetensors lprnet.safetensors yolo.safetensors)
LOCK := poetry.lock pyproject.toml tools/environment.sh tools/requirements.txt
PHOTO ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/serve.stamp $(MODELS) $(if $(PHOTO),,out/scene.jpg) ## set up, then read the demo picture, or yours: make demo PHOTO=car.jpg
	@echo "==> reading $(or $(PHOTO),out/scene.jpg) with the embedded Triton server"
	@$(BIN)/plates read "$(or $(PHOTO),out/scene.jpg)" --save-annotated out

WORKERS ?= 2
SIDE_BY_SIDE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: test
test: .venv/all.stamp $(MODELS) out/scene.jpg ## set up with the tools of developers, then run every test: 9 minutes on two cores
	-@tools/nginx.sh # without it only the tests of deploy/nginx fail
	@echo "==> the tests, in $(WORKERS) processes"
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not alone and not soak'
	@echo "==> those that need the machine for themselves"
	@$(BIN)/python -m pytest -m 'alone and not soak'

.PHONY: test-fast
test-fast: .venv/all.stamp $(MODELS) ## the tests without a server or a long training: a minute and a half
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not slow and not soak'

MINUTES ?= 60
ROUNDS ?= 20

.PHONY: soak
soak: .venv/all.stamp $(MODELS) ## the fault tests in full length, over three hours: make soak MINUTES=60 ROUNDS=20
	@echo "==> full load for $(MINUTES) minutes, every process killed $(ROUNDS) times, and more"
	@PLATES_SOAK_MINUTES=$(MINUTES) PLATES_SOAK_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest tests/faults -m soak

.PHONY: bench
bench: .venv/all.stamp $(MODELS) ## measure all of docs/performance.md anew and write it there: 12 minutes of a quiet machine
	@mkdir -p out/bench docs/performance
	@$(BIN)/python -m benchmarks.variants
	@$(BIN)/python -m benchmarks --reach --wirings --stages --seconds 4 --json out/bench/reach.json --plot docs/performance/stages.png
	@$(BIN)/python -m benchmarks --input encoded --input raw --input shm --seconds 2 --json out/bench/loads.json --plot docs/performance/loads.png
	@$(BIN)/python -m benchmarks --wirings --concurrency 1,4,8 --input encoded --input raw --seconds 1.2 --json out/bench/wirings.json --plot docs/performance/wirings.png
	@$(BIN)/python -m benchmarks --plates 1 --rate 15 --seconds 10 --json out/bench/open.json
	@$(BIN)/python -m benchmarks --overload --plates 1 --seconds 10 --json out/bench/overload.json
	@$(BIN)/python -m benchmarks --networks --seconds 4 --json out/bench/networks.json
	@$(BIN)/python -m benchmarks --cache --seconds 4 --json out/bench/cache.json
	@$(BIN)/python -m training.detector.speed --json out/bench/detector.json
	@$(BIN)/python -m benchmarks.document out/bench docs/performance.md

.PHONY: check
check: .venv/all.stamp ## linters, types, lock, Dockerfile, YAML
	@echo "==> ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> poetry.lock"
	@.tools/bin/poetry check --lock
	@echo "==> hadolint, yamllint, kubernetes-validate"
	@$(BIN)/hadolint Dockerfile
	@$(BIN)/yamllint --strict .
	@$(BIN)/kubernetes-validate --strict --quiet deploy/kubernetes.yaml

.PHONY: clean
clean: ## remove all that was made: environments, converted models, out/, caches
	rm -rf .venv .tools out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	rm -f $(MODELS) $(REPOSITORY)/*/1/model.bin benchmarks/model_repository/*/1/model.pt
	find plate_nets converters training benchmarks tests $(REPOSITORY) -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/serve.stamp: $(LOCK)
	@tools/environment.sh serve embedded
	@touch $@

.venv/all.stamp: $(LOCK)
	@tools/environment.sh serve embedded train dev
	@touch $@ .venv/serve.stamp

$(MODELS) &: $(WEIGHTS) $(wildcard plate_nets/conversion/*.py plate_nets/nets/*.py) | .venv/serve.stamp
	@echo "==> converting the networks"
	@$(BIN)/python -m converters
	@touch $(MODELS)

out/scene.jpg: $(wildcard training/synthesis/*.py) | .venv/serve.stamp
	@echo "==> drawing a street scene: $@"
	@mkdir -p out
	@$(BIN)/python -m training.synthesis --scene $@ --plates 2 --seed 24
