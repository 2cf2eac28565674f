# make demo    install, then the main job on packaged prices and a generated week of usage; results in demo-output/
# make test    install, then every test but the slow ones
.DEFAULT_GOAL := help
.PHONY: help install install-dev system demo test test-slow lint format bench serve docs reference lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES := $(shell nproc 2>/dev/null || echo 2)
# One more than cores: tests wait for servers that they started.
WORKERS := $(shell expr $(CORES) + 1)
# Without compiled files pytest compiles every test, and each program that a test starts every library, on every run.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^# //p' Makefile
	@echo "make lint    ruff, mypy --strict, import-linter"
	@echo "make serve   the exporter on :10210 with the settings in tuppence.yaml, if there is one"
	@echo "make bench   what bench/README.md describes"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tuppence needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

# Prometheus, promtool, Alertmanager and Chromium for the tests that need the real thing; without the right to install
# them those tests skip and say so.
system:
	@.ci/system

demo: install
	$(BIN)/tuppence demo --out demo-output

test: install-dev system
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow" tests

test-slow: install-dev system
	PROPERTIES=deep $(BIN)/python -m pytest -m "slow or hypothesis" tests

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

serve: install
	$(BIN)/tuppence export

# The other benchmarks need a folder of prices and traces: bench/README.md.
bench: install-dev
	PYTHONPATH=. $(BIN)/python bench/exposition.py
	PYTHONPATH=. $(BIN)/python bench/aws_bulk.py

# make docs    the documentation as a site in site/
docs: install-dev
	$(BIN)/mkdocs build --quiet --strict

# make reference    the pages of docs/ that are made from the code
reference: install-dev
	$(BIN)/python -m exporters.publish.reference > docs/reference/metrics.md
	$(BIN)/python -m recommender.serve.reference > docs/reference/recommender-metrics.md
	$(BIN)/python -m exporters.permissions_reference > docs/how-to/permissions.md
	$(BIN)/python -m tools.settings_reference > docs/reference/settings.md
	$(BIN)/python -m tools.commands_reference > docs/reference/commands.md
	$(BIN)/python -m tools.constraints_reference > docs/reference/constraints.md

lock:
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--all-extras pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--all-extras --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	echo 'hatchling>=1.27,<2' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header -c requirements-dev.lock - -o requirements-build.lock

clean:
	rm -rf $(VENV) demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
