# make demo       environment, then the whole curve of a simulated endpoint: a table, a plot and a report
# make test       lint, format, types, layers, and every test that takes less than ten seconds
# make test-all   the slow ones and those against a real engine too
# make bench      what the client costs and how true it is, against a server whose timings are known
# make clean      everything that was made here
#
# PYTHON=/path/to/python3 chooses the interpreter (3.11 or newer); JOBS=N how many tests run at once.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PIP_FLAGS := --quiet --quiet --disable-pip-version-check --no-input
NO_PACKAGES := echo "error: packages could not be installed; what pip warns of is shown by: make install PIP_FLAGS=" >&2; exit 3
PYTEST := $(BIN)/python -m pytest

# Tests that measure, or start processes that do, get the machine to themselves; the others run side by side.
ALONE := $(wildcard tests/run tests/sim tests/testing tests/cli)
TOGETHER := $(filter-out $(ALONE) tests/assets tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/ tests/test_*.py))) bench

.PHONY: help demo install test test-all test-engine lint types bench clean

help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' Makefile

# The virtual environment, made by the first interpreter that is new enough and can make one.
$(VENV)/.made:
	@$(if $(PYTHON),candidates='$(PYTHON)',candidates='$(CANDIDATES)'); \
	chosen=; seen=; \
	for name in $$candidates; do \
	    path=$$(command -v "$$name" 2>/dev/null) || continue; \
	    version=$$("$$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue; \
	    seen="$$seen $$name=$$version"; \
	    "$$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue; \
	    if "$$path" -c 'import ensurepip, venv' 2>/dev/null; then chosen=$$path; break; fi; \
	    seen="$$seen (without venv)"; \
	done; \
	if [ -z "$$chosen" ]; then \
	    echo "error: Python 3.11 or newer with the venv module is needed; found:$${seen:- none}" >&2; \
	    echo "       name one with: make PYTHON=/path/to/python3   (Debian: apt-get install python3-venv)" >&2; \
	    exit 3; \
	fi; \
	echo "environment: $(VENV) from $$chosen"; \
	rm -rf $(VENV); \
	"$$chosen" -m venv $(VENV); \
	touch $@

$(VENV)/.runtime: $(VENV)/.made requirements/build.txt requirements/runtime.txt pyproject.toml
	@echo "installing the pinned packages (about 100 MB, once)"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -r requirements/build.txt -r requirements/runtime.txt || { $(NO_PACKAGES); }
	@$(BIN)/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	@echo "installing the test tools"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -r requirements/dev.txt || { $(NO_PACKAGES); }
	@touch $@

install: $(VENV)/.runtime

demo: $(VENV)/.runtime
	@$(BIN)/wholecurve demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/python tests/test_layers.py

types: $(VENV)/.dev
	$(BIN)/mypy --strict src

test: lint types
	$(PYTEST) -n $(JOBS) --dist loadfile -m "not slow and not engine" $(TOGETHER)
	$(if $(ALONE),$(PYTEST) -m "not slow and not engine" $(ALONE))

test-engine: $(VENV)/.dev
	$(PYTEST) -m engine tests/engines

test-all: lint types
	$(PYTEST) tests

bench: $(VENV)/.runtime
	$(BIN)/python bench/run.py $(BENCH)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	$(MAKE) -C bench/truth-server clean
	$(MAKE) -C bench/limit-client clean
