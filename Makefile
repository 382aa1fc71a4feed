# Two commands: `make reproduce` and `make test`. Both set up what they need in .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup reproduce test lint types layers unit plain test-browser bench bench-service tables clean

help:
	@echo "make reproduce   the paper in minutes: 16 figures, report.html and claims, in out/"
	@echo "make test        lint, types, layers and tests"
	@echo "make test-browser  the report in headless Chromium, if that is installed"
	@echo "make bench       measure speed side by side, write docs/performance.md"
	@echo "make bench-service  the service under load beside an empty route, write docs/service.md"
	@echo "make tables      play the studies behind the tables of the docs, and write them"
	@echo "make clean       remove what the others made"

.venv/.base: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

.venv/.dev: .venv/.base
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

setup: .venv/.dev

reproduce: .venv/.base
	$(BIN)/belated reproduce howson2021 --preset quick

test: lint types layers unit plain

lint: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/.dev
	$(BIN)/mypy

layers: .venv/.dev
	$(BIN)/lint-imports

unit: .venv/.dev
	$(BIN)/pytest

# The same kernels as plain Python: a subset, since this is slow.
plain: .venv/.dev
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m plain --override-ini addopts="--import-mode=importlib" tests

test-browser: .venv/.dev
	BELATED_BROWSER=1 $(BIN)/pytest tests/browser

bench: .venv/.dev
	$(BIN)/python benchmarks/run.py

bench-service: .venv/.dev
	$(BIN)/python benchmarks/load.py

tables: .venv/.dev
	$(BIN)/python docs/tables.py

clean:
	rm -rf .venv out results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
