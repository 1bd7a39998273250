# Everything a developer or an operator types. `make help` lists it. Needs Python 3.11 or newer, and make.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VAR ?= $(CURDIR)/var
PORT ?= 8000
PYTEST_ARGS ?=
CMD ?= help
PAGES ?=
SCENARIO ?=
SEED ?=
SHORT ?=

# The first Python that is new enough. `make PYTHON=/path/to/python3` chooses another.
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11 python3.14 python,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
VENV := .venv
BIN := $(VENV)/bin
# pip is told nothing by the caller's own settings except where packages are found.
PIP := -m pip --disable-pip-version-check --quiet install --require-hashes
# $(call install,PYTHON,FILE): what a file of requirements pins, by uv, in a quarter of pip's time. Where pip's settings name
# an index, which uv does not read, or uv cannot be had, pip does it. Both hold every package to its hashes.
define install
	@{ ! $(BIN)/python -m pip config list | grep '\.index-url=' >&2 \
		&& $(BIN)/python $(PIP) -r <(sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.txt) \
		&& $(BIN)/uv pip install --quiet --python $(1) --compile-bytecode --require-hashes -r $(2); } 2>/dev/null \
		|| $(1) $(PIP) -r $(2)
endef

# Compiled modules are kept, whatever the caller's environment says: without them each start compiles all of them anew.
export PYTHONDONTWRITEBYTECODE :=

export BALLAST_MODE ?= embedded
export BALLAST_VAR = $(abspath $(VAR))
export BALLAST_PORT = $(PORT)

# Files stay whole: what is made for a file is made once.
ON_ALL_CORES := -n auto --dist loadfile

# Tests of what pyproject.toml measures. All others would take half as long again with tracing, and say little more.
MONEY_TESTS := tests/access tests/config tests/four_eyes tests/ledger tests/merchants tests/operations/test_stops.py \
	tests/people/test_access.py tests/people/test_suspension.py tests/people/test_viewing.py tests/payments/test_assessment.py \
	tests/payments/test_assessment_properties.py

# Settings that production would accept, to check what only production does. Nothing is reached with them.
AS_IN_PRODUCTION = BALLAST_MODE=production PUBLIC_URL=https://pay.example.com ALLOWED_HOSTS=pay.example.com \
	SECRET_KEY=0123456789-only-to-check-the-settings-never-to-be-used API_KEY_PEPPER=0123456789-only-to-check-the-settings \
	WEBHOOK_ENCRYPTION_KEY=0123456789-only-to-check-the-settings \
	DATABASE_URL=postgres://ballast@db.example.com/ballast REDIS_URL=redis://redis.example.com/0 \
	TRUSTED_PROXIES=10.0.0.0/8 RATE_SOURCES= DEBUG=

.PHONY: help run manage test test-all coverage sdk woocommerce check lint types conventions production release bench bench-scale proofs gauntlet figures tables docs messages screenshots devnet contracts node lock hooks clean

help: ## List what can be made
	@echo 'make <target>, one of:'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  %-14s %s\n' $$name "$$text"; done
	@echo
	@echo 'VAR=folder and PORT=number choose where the data live and where Ballast answers (var, 8000).'

run: $(VENV)/.runtime ## Run Ballast: database, web, worker and beat, with its data under var/
	@exec $(BIN)/python -m config.embedded run

manage: $(VENV)/.runtime ## Run a management command, also while `make run` is not running; make's own exit code is 2 for any other
	@exec $(BIN)/python -m config.embedded manage $(CMD)

# `make test IN_CI=1` leaves out what `.ci/run` does in another stage: `make coverage`, and tests for real servers.
IN_CI ?=
test: $(VENV)/.development node ## Run each promise once, before a commit; or some tests: make test PYTEST_ARGS="tests/ledger -k zero"
	@exec $(BIN)/python -m pytest $(or $(PYTEST_ARGS),$(ON_ALL_CORES) -m 'not slow$(if $(IN_CI), and not servers)' $(if $(IN_CI),$(MONEY_TESTS:%=--ignore=%)))

# `make test-all MARKS='servers and slow'` runs those that match.
MARKS ?=
test-all: $(VENV)/.development node ## Run every test
	@exec $(BIN)/python -m pytest $(ON_ALL_CORES) $(if $(MARKS),-m '$(MARKS)')

coverage: $(VENV)/.development ## Run the tests of the money code traced, and hold it to its coverage
	@$(BIN)/python -m pytest $(ON_ALL_CORES) -m 'not slow' --cov --cov-report= $(MONEY_TESTS)
	@$(BIN)/coverage report --fail-under=95

# `make sdk LANGUAGES=python LONG=1` checks one, with 1,000 payments through a proxy that spoils requests.
LANGUAGES ?=
sdk: $(VENV)/.development ## Build the clients, install each in a clean environment, run them against a real sandbox
	@exec $(BIN)/python -m sdk.check $(LANGUAGES)

# `make woocommerce ORDERS=200 SEED=7`; needs Debian's packages that it names, and takes minutes: not part of `.ci/run`.
woocommerce: $(VENV)/.development ## Run the WooCommerce plugin in Debian's WordPress, with a browser and a real sandbox
	@exec $(BIN)/python -m sdk.woocommerce.shop.run

check: lint types conventions production ## Everything but the tests: lint, types, imports, migrations, templates, settings

conventions: $(VENV)/.development ## Check imports, migrations, tables of docs/, translations and templates
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	@$(BIN)/python -m tests.migration_rules
	@$(BIN)/python -m tests.tables --check
	@$(BIN)/python -m tests.deploy --check
	@$(BIN)/python -m tests.messages --check
	@$(BIN)/python -m sdk.generator --check
	@$(BIN)/djlint --check --lint templates

production: $(VENV)/.development ## Check settings as production has them
	@$(AS_IN_PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	@$(AS_IN_PRODUCTION) $(BIN)/python manage.py collectstatic --no-input --clear --verbosity 0

release: $(VENV)/.development ## Build the files of a release into dist/, twice, and compare: archives, digests, bill of materials, licences
	@exec $(BIN)/python -m tests.release

lint: $(VENV)/.development ## Check style with ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.development ## Check types with mypy
	@$(BIN)/mypy .

bench: $(VENV)/.development $(VENV)/installation/.installed ## Measure, and compare with the goals
	@exec $(BIN)/python -m tests.bench

# `make bench-scale ARGS="--only lists --all"` shows every pair of filters.
ARGS ?=
bench-scale: $(VENV)/.development ## Measure lists, pages and files with 10,000 to 1,000,000 payments; the data are kept in var/bench
	@exec $(BIN)/python -m tests.bench.scale $(ARGS)

proofs: .proofs/.installed ## Prove what the contracts can do, symbolically, on every path
	@exec .proofs/bin/python -m tests.proofs

gauntlet: $(VENV)/.development node ## Kill real processes again and again: make gauntlet SCENARIO=webhooks SEED=7 SHORT=1
	@$(if $(filter histories,$(SCENARIO)),exec env LONG=1 EXAMPLES=20 HYPOTHESIS_RANDOM=1 $(BIN)/python -m pytest $(ON_ALL_CORES) -m hypothesis;) \
	$(if $(filter long,$(SCENARIO)),exec env LONG=1 $(BIN)/python -m pytest $(ON_ALL_CORES) -m long;) \
	exec $(BIN)/python -m tests.gauntlet $(SCENARIO) $(if $(SEED),--seed $(SEED)) $(if $(SHORT),--short) $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(MOVEMENTS),--movements $(MOVEMENTS)) $(if $(SECONDS),--seconds $(SECONDS))

figures: $(VENV)/.development ## Count what docs/architecture.md says of the size of the code
	@exec $(BIN)/python -m tests.figures

tables: $(VENV)/.development ## Write what follows from the code: tables of docs/ (settings, commands, alarms, roles, events), units, manifests
	@$(BIN)/python -m tests.tables
	@$(BIN)/python -m tests.deploy

docs: $(VENV)/.development .site/.installed ## Build the documentation as a static site into var/site
	@exec $(BIN)/python -m tests.docs_site

messages: $(VENV)/.development ## Bring the catalogues of translations up to date with the source, and compile them
	@exec $(BIN)/python -m tests.messages

screenshots: $(VENV)/.development ## Render every page into var/screenshots: make screenshots PAGES="checkout login"
	@exec $(BIN)/python -m tests.browser.screenshots $(PAGES)

devnet: node ## Run a local ethereum, polygon and stellar with coins: then SANDBOX_CHAIN=devnet make run VAR=var/devnet
	@exec $(BIN)/python manage.py devnet

contracts: $(VENV)/.development ## Compile the contracts of ethereum and polygon anew
	@exec $(BIN)/python -m tests.evm.compiling

node: $(VENV)/.runtime ## Fetch the local ethereum node that some tests and devnet run, where npm is there
	@exec $(BIN)/python -m tests.evm.network.fetching $(if $(CI),--required)

lock: $(VENV)/.development ## Pin every dependency anew
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header pyproject.toml --output-file requirements.txt $(LOCK_ARGS)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header pyproject.toml --extra kms --constraint requirements.txt \
		--output-file requirements-kms.txt $(LOCK_ARGS)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header pyproject.toml --extra otel --extra sentry --constraint requirements.txt \
		--output-file requirements-telemetry.txt $(LOCK_ARGS)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group pyproject.toml:proofs --output-file requirements-proofs.txt $(LOCK_ARGS)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header --group pyproject.toml:site --output-file requirements-docs.txt $(LOCK_ARGS)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header pyproject.toml --group dev --constraint requirements.txt \
		--output-file requirements-dev.txt $(LOCK_ARGS)

hooks: $(VENV)/.development ## Check every commit before it is made
	@$(BIN)/pre-commit install

clean: ## Remove caches and the virtual environment, never var/
	@rm -rf $(VENV) .proofs .site .anvil .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis htmlcov .coverage

$(VENV)/bin/python:
	@if [ -z '$(PYTHON)' ]; then \
		echo 'Ballast needs Python 3.11 or newer, and there is none on the PATH ('$$(python3 --version 2>&1 || true)').' >&2; \
		echo 'Install one (Debian: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3 …' >&2; \
		exit 1; \
	fi
	@echo 'Making a virtual environment with $(PYTHON)'
	@'$(PYTHON)' -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'python3 -m venv failed; on Debian: apt install python3-venv' >&2; exit 1; }

# A stamp per lock file: a second run finds nothing to do.
$(VENV)/.runtime: requirements.txt | $(VENV)/bin/python
	@echo 'Installing what Ballast runs on'
	$(call install,$(BIN)/python,requirements.txt)
	@touch $@

.site/.installed: requirements-docs.txt | $(VENV)/.development
	@$(BIN)/python -m venv .site
	$(call install,.site/bin/python,requirements-docs.txt)
	@touch $@

.proofs/.installed: requirements-proofs.txt | $(VENV)/.development
	@$(BIN)/python -m venv .proofs
	$(call install,.proofs/bin/python,requirements-proofs.txt)
	@touch $@

# What an installation has, to measure its memory: some libraries load what development has where they find it.
$(VENV)/installation/.installed: requirements.txt | $(VENV)/.development
	@$(BIN)/python -m venv $(@D)
	$(call install,$(@D)/bin/python,requirements.txt)
	@touch $@

$(VENV)/.development: requirements-dev.txt | $(VENV)/bin/python
	@echo 'Installing what Ballast is developed with'
	$(call install,$(BIN)/python,requirements-dev.txt)
	@touch $@ $(VENV)/.runtime
