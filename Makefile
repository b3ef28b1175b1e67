# make demo and make test need nothing but Python >= 3.11 with venv: they build .venv themselves, once.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# uv installs in a tenth of the time, from the index that pip is set to use; without uv, or if it fails, pip does, and where
# pip is told to use no index or constraints, of which uv knows nothing
INDEX = $(or $(PIP_INDEX_URL),$(shell $(BIN)/python -m pip config get global.index-url 2>/dev/null))
UV = $(if $(PIP_NO_INDEX)$(PIP_CONSTRAINT),false &&) $(if $(PIP_CERT),SSL_CERT_FILE="$(PIP_CERT)") $(BIN)/uv pip install --quiet --python $(BIN)/python $(if $(INDEX),--index-url $(INDEX))
WHAT = -e ".[$(1)]" $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))
install = @echo "installing coview[$(1)] into $(VENV)"; ($(PIP) uv && $(UV) $(WHAT)) 2>/dev/null || $(PIP) $(WHAT)

# what uv installs is compiled when it is first imported, once, and not by every process anew
unexport PYTHONDONTWRITEBYTECODE

# a Python of some version: the newest of pyenv, or the one on the path
python = $(or $(lastword $(sort $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python))),python$(1))

.PHONY: help demo test mutants test-lowest test-3.11 test-3.12 test-3.13 test-3.14 units coverage lint docs bench auto-check reproduce fuzz release-check clean

help:
	@echo "make demo   set up and run the demonstration"
	@echo "make test   set up and pass every check: ruff, mypy, import contracts, pytest"
	@echo "make test-lowest   run the tests on the lowest versions that pyproject.toml allows (constraints-lowest.txt)"
	@echo "make test-3.12  run the tests on that Python: 3.11, 3.12, 3.13 or 3.14"
	@echo "make coverage   run the tests and say which lines they reach"
	@echo "make docs   build the site into docs/_build/html, warnings are errors"
	@echo "make reproduce PAPER=mvplsa_2012   run a paper's experiments again, ours beside theirs"
	@echo "make mutants  change lines of the code one at a time and see whether the tests notice"
	@echo "make fuzz MINUTES=10   try files, requests and inputs made to do harm"
	@echo "make release-check   build, install and test what would be released, on every Python; publishes nothing"
	@echo "make auto-check   see in ten minutes whether AutoClustering and AutoClassifier are as good as in the run that was kept"
	@echo "make bench  measure speed and memory against scikit-learn (results in benchmarks/results)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("coview needs Python 3.11 or newer, found " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(call install,table)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(call install,dev)
	@touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.dev
	$(call install,docs)
	@touch $@

demo: $(VENV)/.core
	$(BIN)/coview demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 lint units  # the checks end long before the tests

# two workers, a core each: threads of the numerical libraries would wait for each other; of pytest's plugins those that
# are used, because others come with libraries and load them
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest \
	-p xdist.plugin -p pytest_cov.plugin -p _hypothesis_pytestplugin -n 2 --dist worksteal

units: $(VENV)/.dev
	$(PYTEST)

coverage: $(VENV)/.dev
	$(PYTEST) --cov --cov-report=term

test-lowest:  # the checks of scikit-learn 1.6 can be imported only with SciPy's array API
	@SCIPY_ARRAY_API=1 $(MAKE) --no-print-directory units VENV=.venv-lowest CONSTRAINTS=constraints-lowest.txt PYTHON=$(call python,3.11)

test-3.11 test-3.12 test-3.13 test-3.14: test-%:
	@$(MAKE) --no-print-directory units VENV=.venv-$* PYTHON=$(call python,$*)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

auto-check: $(VENV)/.dev
	$(BIN)/python benchmarks/auto_check.py $(if $(KEEP),--keep)

reproduce: $(VENV)/.dev
	$(BIN)/python reproductions/run.py $(PAPER)

MINUTES ?= 10

fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz --minutes $(MINUTES)

mutants: $(VENV)/.dev
	$(BIN)/python tools/mutants.py

release-check:
	$(PYTHON) tools/release_check.py

clean:
	rm -rf .venv .venv-* build docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache
