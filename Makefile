# Run `make` for the list of targets. Everything happens in a private environment, .venv:
# no sudo, no Java, nothing to install by hand but Python 3.11 or later.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOCKS  := requirements/runtime.txt requirements/dev.txt
READY  := $(VENV)/.ready
UV     := $(BIN)/uv
# One worker more than cores: tests also wait.
JOBS   ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
EXTRAS  = $(addprefix --extra ,aws azure connect evtx gcp google mcp serve sftp sigma)
# Otherwise each of the many processes of the tests compiles everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
# As pip does: the certificate of a proxy that inspects TLS is in the system's store.
export UV_SYSTEM_CERTS ?= true
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-s3 demo-store test test-changed test-slow check lint types imports fmt bench pages terminal docs docs-serve vendor soak lock clean

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make the private environment with the locked dependencies

$(READY): $(LOCKS) pyproject.toml $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

$(UV): requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit("tailpipe needs Python 3.11 or later; name one with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	touch $@

demo: setup ## the product in two minutes: 30 days of logs made, collected and queried; then those of a bucket
	@PATH="$(abspath $(BIN)):$$PATH" examples/quickstart/demo.sh
	@if test -x $(BIN)/weed && $(BIN)/python -c 'import boto3, obstore' 2>/dev/null; then $(BIN)/python examples/s3/demo.py; fi

demo-s3: setup ## a trail in a bucket of a local S3 server: made, collected and queried
	@$(BIN)/python examples/s3/demo.py

demo-store: setup ## two hosts that collect into one store, and a third that reads it
	@$(BIN)/python examples/shared/demo.py

test: setup ## run the tests
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not soak"

test-changed: setup ## run the fast tests that the uncommitted change can affect; BASE=main: all since main
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not soak" $$($(BIN)/python -m tests.changed $(BASE))

test-slow: setup ## run the tests that need minutes: kills of whole runs, a cluster
	$(BIN)/python -m pytest -n $(JOBS) -m "slow and not soak"

check: lint types imports test ## what must be green before a commit: lint, types, import rules, tests

lint: setup ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## mypy --strict
	$(BIN)/mypy

imports: setup ## the rooms import downwards only
	$(BIN)/lint-imports

fmt: setup ## format the code and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure; figures go to the terminal
	$(BIN)/python -m bench

pages: setup ## write the generated pages and tables of docs/ from the declarations
	$(BIN)/python -m tests.table_pages
	$(BIN)/python -m tests.detection_pages
	$(BIN)/python -m tests.reference_pages
	$(BIN)/python -m tests.message_page
	$(BIN)/python -m tests.log_page

terminal: setup ## draw the terminal pictures of docs/ from real runs
	$(BIN)/python -m tests.terminal_pages

docs: setup ## build the documentation site into site/, without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: docs ## show the documentation site on 127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

vendor: ## bundle the third-party code of the explorer anew; the only target that needs Node
	cd web && npm ci --ignore-scripts --silent && node vendor.mjs

soak: setup ## kill collectors 10,000, pushes and detections 1,000 times, and hosts of one store during 1,000 commits; follow for 1,000 cycles (over an hour)
	$(BIN)/python -m tests.crash.soak --kills 10000
	TAILPIPE_COMMITS=1000 $(BIN)/python -m pytest -o faulthandler_timeout=0 -s -m slow tests/stores/test_many_hosts.py tests/crash/test_host_kills.py
	TAILPIPE_CYCLES=100 $(BIN)/python -m pytest -m slow tests/unit/follow tests/crash/test_follow.py
	TAILPIPE_EXAMPLES=all $(BIN)/python -m pytest -n $(JOBS) tests/properties
	$(BIN)/python -m pytest -n $(JOBS) -m soak

lock: $(UV) ## resolve the dependencies anew into requirements/*.txt
	echo uv | $(COMPILE) - -o requirements/uv.txt
	$(COMPILE) $(EXTRAS) pyproject.toml -o requirements/runtime.txt
	$(COMPILE) $(EXTRAS) pyproject.toml requirements/dev.in -c requirements/runtime.txt -o requirements/dev.txt

clean: ## remove the environment and what the tools left
	rm -rf $(VENV) site .demo .demo-s3 .demo-store .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
