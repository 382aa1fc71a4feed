# `make reproduce` runs the paper's experiments, `make check` and `make test` test the package. Each
# sets up what it needs in .venv first.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
JOBS ?= 2# processes that run tests
BASE ?= main# branch that `make check` compares with
# Idle processes take over tests of busy ones.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal

LOWEST := .venv-lowest/bin
TOOLS := .venv-tools/bin
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/belated/__init__.py)

# Tests start hundreds of processes: each would compile all sources if no bytecode were written.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup reproduce check test lint types layers kernels quick unit plain simulated \
	compiled-gpu test-gpu test-browser test-lowest build check-version test-wheel audit sbom \
	lint-deploy container paper bench bench-gpu bench-install bench-service attack tables \
	docs pictures notebooks test-notebooks clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.base: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

.venv/.dev: .venv/.base
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

.venv/.docs: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

.venv-lowest/.dev: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	$(LOWEST)/python -m pip install --quiet uv
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct \
		--editable '.[dev]'
	@touch $@

.venv-gpu/.done: pyproject.toml
	$(PYTHON) -m venv --clear .venv-gpu
	.venv-gpu/bin/python -m pip install --quiet --editable '.[gpu]' hypothesis pytest
	@touch $@

.venv-tools/.done: .ci/tools.txt
	$(PYTHON) -m venv --clear .venv-tools
	$(TOOLS)/python -m pip install --quiet --requirement .ci/tools.txt
	@touch $@

# What users install: all extras but gpu.
.venv-installed/.all: pyproject.toml
	$(PYTHON) -m venv --clear .venv-installed
	.venv-installed/bin/python -m pip install --quiet --upgrade pip
	.venv-installed/bin/python -m pip install --quiet '.[all]'
	@touch $@

setup: .venv/.dev ## create .venv with everything that the tests need

reproduce: .venv/.base ## the paper in minutes: 16 figures, report.html and claims, in out/
	$(BIN)/belated reproduce howson2021 --preset quick

check: lint types layers quick ## while you work: lint, types, layers, fast tests and tests of what changed

# The largest kernels are compiled by one process, while others do what needs no kernels.
test: .venv/.dev ## before a merge: lint, types, layers and all tests
	$(MAKE) --jobs 2 --output-sync kernels lint types layers plain
	$(MAKE) --jobs 2 unit simulated

lint: .venv/.dev ## ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/.dev ## mypy
	$(BIN)/mypy

layers: .venv/.dev ## import-linter: which package may import which
	$(BIN)/lint-imports

kernels: .venv/.dev ## compile the kernels that take longest, for all processes that follow
	$(BIN)/python .ci/compile_kernels.py

quick: .venv/.dev ## a fast core of tests, and the tests of what changed since BASE
	selected=$$($(BIN)/python .ci/select_tests.py $(BASE)) && $(PYTEST) $$selected

unit: .venv/.dev ## all tests but those in a browser
	$(PYTEST)

plain: .venv/.dev ## tests of kernels as plain Python: a subset, since this is slow
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m plain --override-ini addopts="--import-mode=importlib" \
		tests/compiled tests/equivalence tests/learner tests/simulation tests/theory \
		tests/test_elementary.py tests/test_randomness.py tests/test_worklist.py

# The simulator of numba-cuda runs kernels as threads in Python.
simulated: .venv/.dev ## all tests of the GPU engine, with few episodes, in a simulator
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/pytest tests/simulation/gpu tests/sweep/test_on_gpu.py

# The compiler of CUDA needs no GPU. There are packages for Linux and Windows only.
compiled-gpu: ## compile all kernels for an NVIDIA H200, without a GPU
	@if $(MAKE) .venv-gpu/.done; then \
		.venv-gpu/bin/python -m pytest --override-ini addopts=--import-mode=importlib -W default \
			tests/simulation/gpu/test_ptx.py; \
	else \
		echo "Skipped: the compiler of CUDA cannot be installed here (pip install 'belated[gpu]')."; \
	fi

# Warnings are not errors, because numba-cuda uses names that NumPy has deprecated.
test-gpu: .venv/.dev ## all tests of the GPU engine; needs an NVIDIA GPU
	$(BIN)/python -m pip install --quiet --editable '.[gpu]'
	$(BIN)/pytest -n auto --dist worksteal -W default tests/simulation/gpu tests/sweep/test_on_gpu.py

test-browser: .venv/.dev ## the report and the dashboard in headless Chromium, if that is installed
	BELATED_BROWSER=1 $(BIN)/pytest tests/browser

# Its own cache, because another version of numba has compiled the code of .venv. Warnings are not
# errors, because old versions warn about newer packages that they depend on.
test-lowest: .venv-lowest/.dev ## all tests in full, with the lowest version of each dependency
	BELATED_FULL=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/cache \
		$(LOWEST)/pytest -n $(JOBS) --dist loadfile -W default

build: .venv-tools/.done ## sdist and wheel of belated and of belated-client, in dist/
	rm -rf build/lib build/bdist.* dist
	$(TOOLS)/python -m build --outdir dist .
	$(TOOLS)/python -m build --outdir dist client
	$(TOOLS)/twine check --strict dist/*

check-version: ## TAG is that of the version in src/belated, such as v0.2.0
	test "$(TAG)" = "v$(VERSION)"

test-wheel: .venv/.dev build ## install the wheels for another user, and use and serve with them
	BELATED_DIST=$(CURDIR)/dist $(BIN)/pytest tests/wheel

audit: .venv-tools/.done .venv-installed/.all ## known vulnerabilities of all dependencies
	mkdir -p build
	.venv-installed/bin/python -m pip freeze --exclude belated > build/installed.txt
	$(TOOLS)/pip-audit --strict --disable-pip --no-deps --requirement build/installed.txt

# cyclonedx-py leaves out a version that is dynamic.
sbom: .venv-tools/.done .venv-installed/.all ## list all dependencies: build/belated.cdx.json (CycloneDX)
	mkdir -p build
	sed 's/^dynamic = \["version"\]/version = "$(VERSION)"/' pyproject.toml > build/pyproject.toml
	$(TOOLS)/cyclonedx-py environment --pyproject build/pyproject.toml --output-reproducible \
		--output-file build/belated.cdx.json .venv-installed

# nginx, Caddy, systemd and actionlint check their files where they are installed.
lint-deploy: .venv-tools/.done ## containers, units, workflows and CITATION.cff
	$(TOOLS)/python .ci/lint_deploy.py

container: ## build the image and start it with a read-only file system; needs Docker
	docker build --tag belated .
	docker run --rm --read-only --tmpfs /tmp belated token create --scope admin

paper: .venv-tools/.done ## the draft of the article as build/paper.html
	mkdir -p build
	$(TOOLS)/python -c 'import pypandoc; pypandoc.convert_file("paper/paper.md", "html", \
		outputfile="build/paper.html", extra_args=["--standalone", "--citeproc", "--mathml", \
		"--fail-if-warnings", "--resource-path=paper", "--bibliography=paper/paper.bib"])'

bench: .venv/.dev ## measure simulations, write docs/performance.md
	$(BIN)/python benchmarks/run.py

bench-gpu: .venv/.dev ## run the whole paper on an NVIDIA GPU, and compare it with the CPU
	$(BIN)/python -m pip install --quiet --editable '.[gpu]'
	$(BIN)/python benchmarks/gpu.py paper out/gpu
	$(BIN)/python benchmarks/gpu.py compare out/gpu

bench-install: .venv/.dev build ## size and import time of fresh installations, for docs/deployment.md
	$(BIN)/python benchmarks/install.py dist

bench-service: .venv/.dev ## measure the service under load, write docs/service.md
	$(BIN)/python benchmarks/load.py

attack: .venv/.dev ## attack a running service, on SQLite and PostgreSQL, write docs/service.md
	$(BIN)/python benchmarks/attack.py $(if $(ONLY),--only $(ONLY)) $(if $(STORE),--store $(STORE))

tables: .venv/.dev ## run the studies behind the tables of the docs, and write them
	$(BIN)/python docs/tables.py

docs: .venv/.docs ## the documentation site, in build/site; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -n -q -d build/doctrees docs build/site

pictures: .venv/.dev ## draw the pictures of the README and the docs again
	$(BIN)/python docs/pictures.py

test-notebooks: .venv/.dev ## execute the notebooks, and compare with their stored outputs
	BELATED_NOTEBOOKS=1 $(PYTEST) tests/docs/test_notebooks.py

notebooks: .venv/.dev ## execute the notebooks and store their outputs
	$(BIN)/python docs/run_notebooks.py

clean: ## remove virtual environments, results and caches
	rm -rf .venv .venv-* out results build dist docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
