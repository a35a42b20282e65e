# make demo    answer the paper's own examples, with the core alone
# make quick   the fast tier: style, types, imports, and the tests that are not marked slow
# make test    everything a change must pass
# make docs    the documentation site, build/docs/index.html; notebooks are run, warnings are errors
# make coverage which lines the fast tier reaches
# make mutants change the trusted code and see whether a test notices: under an hour on two cores
# make dist    what would be released, built and tried in a fresh environment
# Each sets up what it needs of .venv by itself, once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
CORE := .venv/.core
READY := .venv/.ready
WRITING := .venv/.docs

.PHONY: demo quick test docs coverage dist mutants check clean

demo: $(CORE)
	@echo "Example 1: friends, smoking, cancer"
	@$(BIN)/credalog check examples/smokers.lcn
	@echo "What the Markov condition says of Tim"
	@$(BIN)/credalog independences examples/smokers.lcn "Sm(Tim)" "Ca(Tim)"
	@$(BIN)/credalog run examples/smokers.lcn
	@echo "Section 2: the paper says [0.42, 0.58], and [0, 1] without the Markov condition"
	@$(BIN)/credalog run examples/parity.lcn
	@$(BIN)/credalog run examples/parity.lcn --markov none
	@echo "Section 3.3: the paper says [0.3, 0.35]"
	@$(BIN)/credalog run examples/two_sources.lcn
	@echo "Appendix A: the paper says [0, 0.33] and [0.85, 1]"
	@$(BIN)/credalog run examples/appendix.lcn

quick: check
	$(BIN)/pytest -q -n auto --dist loadgroup -m "not slow"

test: check
	$(BIN)/pytest -q -n auto --dist loadgroup

docs: $(WRITING)
	$(BIN)/python -m sphinx -E -W --keep-going -q -c docs -d build/doctrees . build/docs
	@echo "The site is build/docs/index.html."

coverage: $(READY)
	$(BIN)/pytest -q -n auto --dist loadgroup -m "not slow" --cov --cov-report=term:skip-covered

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m tools.wheel dist --install

mutants: $(READY)
	$(BIN)/python -m tools.mutants --fresh --minutes 50 --write

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Credalog needs Python 3.11 or later: make PYTHON=/path/to/python")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

$(READY): $(CORE)
	$(PIP) -e '.[dev]'
	touch $@

$(WRITING): $(CORE)
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .mutants
