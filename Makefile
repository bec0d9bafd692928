# Everything below needs only Python 3.11 or newer, git and make. `make` alone prints this help.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
BIN := .venv/bin
PORT ?= 8460
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup serve demo test lint bench eval conformance crash race fuzz docs lock clean

help: ## this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make serve VAULT=DIR [HOME_DIR=DIR] [PORT=N]   serve your own vault"

setup: $(READY) ## install everything into .venv, pinned; nothing else

$(READY): requirements.lock requirements-setup.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and none was found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up .venv with $$($(PYTHON) --version) …"
	@rm -f $(READY)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
		echo "venv did not work; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-setup.lock
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q muninn index ledger sandbox
	@touch $(READY)

serve: $(READY) ## start the gateway, on a sample vault unless VAULT=DIR is given
	@exec $(BIN)/muninn start --port $(PORT) $(if $(VAULT),--vault "$(VAULT)" $(if $(HOME_DIR),--home "$(HOME_DIR)"),--sample .run)

demo: $(READY) ## show the whole workflow with real answers; ends by itself
	@$(BIN)/muninn demo --run .run/demo

test: lint ## the checks and the whole test suite
	@$(BIN)/python -P -m pytest -n auto

lint: $(READY) ## ruff, mypy --strict, and who may import whom
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo

bench: $(READY) ## times beside their bare operations, as ratios (N=5000 notes)
	@$(BIN)/python -P -m tests.bench $(if $(N),--notes $(N))

eval: $(READY) ## how often the right note is found, beside the committed figures (VAULT=DIR QUESTIONS=FILE)
	@$(BIN)/python -P -m eval $(if $(VAULT),--vault "$(VAULT)") $(if $(QUESTIONS),--questions "$(QUESTIONS)")

conformance: $(READY) ## the official MCP conformance suite and inspector (fetches Node from PyPI)
	@$(BIN)/python -P -m tests.conformance

crash: $(READY) ## proof: crashes, kills, full disks, power cuts (ROUNDS=200)
	@$(BIN)/python -P -m tests.proofs.crash $(if $(ROUNDS),--rounds $(ROUNDS))

race: $(READY) ## proof: many writers on one hash, editors around the door (ROUNDS=200)
	@$(BIN)/python -P -m tests.proofs.race $(if $(ROUNDS),--rounds $(ROUNDS))

fuzz: $(READY) ## proof: hostile requests and notes (N=200000, SEED=1)
	@$(BIN)/python -P -m tests.proofs.fuzz $(if $(N),--n $(N)) $(if $(SEED),--seed $(SEED))

docs: $(READY) ## write docs/reference anew from the code
	@$(BIN)/python -P -m tests.render_docs

lock: $(READY) ## resolve the pins anew
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--extra dev pyproject.toml --output-file requirements.lock

clean: ## remove what setup and serve made here
	rm -rf .venv .run .mypy_cache .ruff_cache .pytest_cache .hypothesis
