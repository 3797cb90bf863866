# Two commands do everything on a fresh machine: `make quickstart` and `make test`.
VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
CORES  ?= all

.PHONY: help env slurm quickstart test coverage docs news lint format bench lock release-check clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# $(1): lock file, $(2): stamp. A half-made environment has no stamp and is finished by the next call.
# Python compiles what it imports, and keeps it: pip would take as long to compile everything as to install it.
define install
	@test -n "$(PYTHON)" || { echo "apuflow needs Python 3.11 or newer with the venv module (Debian: apt-get install python3-venv); set PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing $(1)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile) -r $(1)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(2)
endef

$(VENV)/.runtime: requirements.lock pyproject.toml
	$(call install,requirements.lock,$@)

$(VENV)/.slurm: requirements-slurm.lock pyproject.toml
	$(call install,requirements-slurm.lock,$@)
	@touch $(VENV)/.runtime

$(VENV)/.dev: requirements-dev.lock pyproject.toml
	$(call install,requirements-dev.lock,$@)
	@touch $(VENV)/.runtime $(VENV)/.slurm

env: $(VENV)/.runtime  ## create .venv with the pinned dependencies

slurm: $(VENV)/.slurm  ## also what runs jobs on a Slurm cluster (docs/howto/cluster.md)

quickstart: env  ## every table and figure of the preview engine, no container needed
	$(BIN)/snakemake --cores $(CORES) results/quickstart/softmax_fwd.csv results/quickstart/report.html

test: $(VENV)/.dev  ## format, lint, types, unit, workflow, container and browser tests
	$(BIN)/python -m pytest --numprocesses 5 --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

coverage: $(VENV)/.dev  ## lines that the unit tests of core, configure and analysis reach
	$(BIN)/python -m pytest --numprocesses 3 --cov --cov-report term:skip-covered $(addprefix tests/unit/,core configure analysis)

docs: $(VENV)/.dev  ## the documentation site, build/site/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site
	@echo "site: build/site/index.html"

news: $(VENV)/.dev  ## the fragments of changelog.d as a section of CHANGELOG.md
	$(BIN)/towncrier build --draft

lint: $(VENV)/.dev  ## format and lint checks alone
	$(BIN)/python -m pytest --numprocesses 2 tests/test_style.py

format: $(VENV)/.dev  ## format Python and Snakemake files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt Snakefile workflow/Snakefile workflow/rules

bench: $(VENV)/.dev  ## speed, as ratios
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

lock:  ## resolve the newest versions anew (maintainers)
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate --extra build -o requirements.lock pyproject.toml
	$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate --extra build --extra slurm -o requirements-slurm.lock pyproject.toml
	$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate --extra build --extra slurm --extra kubernetes --extra aws-batch --extra iree --extra triton --extra dev -o requirements-dev.lock pyproject.toml
	rm -rf $(VENV)-lock

release-check: $(VENV)/.dev  ## build dist/ and try the wheel in an empty environment
	.ci/release

clean:  ## remove tables, figures and logs; runs, cachefiles and build products stay
	rm -rf results logs
