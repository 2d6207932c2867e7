# make demo    set up, and compare single, bon-sc and iad on 100 shopping tasks
# make demo-model   the same on BIRD questions with a small language model on this machine, of 491 MB
# make test    set up, and run the tests
# make check   lint, types and tests
# make bench   print every figure as a line of JSON
# make docs    the documentation as a site, in build/docs
# make notebook  the tutorial as an executed notebook, in build/notebook
# make test-full   also the tests that take long
# make test-model  the tests of language models on this machine
# make test-security  what attacks the sandbox, the databases, the browser and the texts; a part of make test
# make test-docker the tests of the sandbox in containers, on Docker or podman
# make test-lucene the engines that need packages of their own, Lucene among them, in an environment of their own
# make test-ray    the tests of --engine ray, on Ray clusters that they start
# make bridges     the bridges to other frameworks, each in an environment of its own with the framework itself
# make training, make trackers   install what the tests of exports and of trackers need
# make test-postgres the tests of IAD/BIRD-v0 on a PostgreSQL server, which they start
# make test-mysql the same on a MariaDB server
# make lock    choose versions again after a change of dependencies, which needs uv

SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
LUCENE := .venv-lucene
BROWSER := $(VENV)/.browser
MODEL := $(VENV)/.model
# One more than there are cores, as many tests wait for a server, a browser or a limit.
WORKERS = $(shell $(PY) -c "import os; print((os.cpu_count() or 1) + 1)")

# Real data and recorded vectors of the original systems may lie next to a checkout. They are not ours to ship.
ifneq ($(wildcard ../shared/data),)
export IAD_REAL_DATA ?= $(abspath ../shared/data)
endif
ifneq ($(wildcard ../shared/vectors),)
export IAD_VECTORS ?= $(abspath ../shared/vectors)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of Pythons. Without compiled files, each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# Installs the project with extras in the versions of uv.lock: by uv where it is there, else by pip. Where an index lacks
# one of these (a mirror does, or it was withdrawn), pip chooses. Python compiles what is imported, so pip compiles nothing.
PINNED := dev sketch2code notebook local docker postgres mysql ray mlflow wandb tensorboard
extras = $(or $(1:%=--editable ".[%]"),--editable .)
install = { { command -v uv >/dev/null && UV_PROJECT_ENVIRONMENT=$(VENV) uv sync --quiet --frozen --inexact $(1:%=--extra %); } \
	|| $(PY) -m pip install --quiet --no-compile --constraint constraints.txt $(extras) \
	|| { echo "The versions of uv.lock can't be had here: taking the newest that fit." >&2; \
		$(PY) -m pip install --quiet --no-compile $(extras); }; }

.PHONY: bridges demo demo-model docs notebook test test-full test-model test-security test-lucene test-docker test-postgres test-mysql test-ray postgres mysql training trackers ray check lint bench setup clean lock

demo: $(READY)
	@$(PY) -m iad_policy.cli compare IAD/WebShop-v0 --strategies single,bon-sc,iad --n 3 --tasks 100 --split test \
		--agent shopper --verifier proxy --match proposals --out runs/demo --fresh

# One query per question, no look at the data first, as the papers ask BIRD: a job that a model of this size can do.
demo-model: $(READY)
	@$(call install,local)
	@$(PY) -m iad_policy.cli compare IAD/BIRD-v0 --env-arg mode=answer --strategies single,bon,iad --n 3 --tasks 12 \
		--agent local:qwen2.5-coder-0.5b#direct --temperature 0.4 --agent-arg max_tokens=128 --verifier proxy \
		--out runs/demo-model

test: $(READY_DEV) $(BROWSER) $(MODEL)
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

test-full: $(READY_DEV) $(BROWSER) $(MODEL) postgres mysql training trackers ray
	$(PY) -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile full -m "not alone"
	$(PY) -m pytest -p no:xdist -m alone

# Most of these tests wait for a limit, so four at a time; a file's tests share their browsers.
test-security: $(READY_DEV) $(BROWSER)
	$(PY) -m pytest -n 4 --dist loadfile tests/security

# Against SmolLM2-135M; without it they are skipped.
test-model: $(READY_DEV) $(MODEL)
	$(PY) -m pytest tests/iad_policy/models tests/full/test_smollm2.py

# The sandbox in containers, on an engine that is there or on podman's socket; skipped with the reason without one.
test-docker: $(READY_DEV)
	@$(call install,docker)
	tests/full/docker_engine.sh $(PY) -m pytest tests/full/test_docker_sandbox.py -p no:xdist

# pyserini needs PyTorch, of which a build without GPU is enough; Java comes with it.
test-lucene: $(LUCENE)/.ready
	$(LUCENE)/bin/python -m pytest -p no:xdist \
		tests/full/test_lucene.py tests/webshop_server/search/test_dense.py tests/webshop_server/search/test_search.py

$(LUCENE)/.ready: pyproject.toml $(READY)
	$(PY) -m venv $(LUCENE)
	$(LUCENE)/bin/python -m pip install --quiet torch==2.13.0
	$(LUCENE)/bin/python -m pip install --quiet --editable ".[dev,dense,lucene]"
	touch $@

# On a server that the tests start; skipped with the reason where its programs are not installed.
test-postgres: $(READY_DEV) postgres
	$(PY) -m pytest tests/full/test_bird_servers.py -k postgresql -p no:xdist

# The driver, and the server's programs where that is possible without asking; without them tests are skipped.
postgres: $(READY_DEV)
	@$(call install,postgres) || \
		echo "The driver psycopg can't be installed: the tests on PostgreSQL are skipped." >&2
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "Installing postgresql ..."; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } || \
			echo "PostgreSQL can't be installed: its tests are skipped." >&2; \
	else \
		echo "No PostgreSQL server: its tests are skipped (sudo apt-get install postgresql, then run make again)." >&2; \
	fi

# The same on MariaDB: of the server only its programs, without a service and without asking.
test-mysql: $(READY_DEV) mysql
	$(PY) -m pytest tests/full/test_bird_servers.py -k mysql -p no:xdist

mysql: $(READY_DEV)
	@$(call install,mysql) || \
		echo "The driver pymysql can't be installed: the tests on MariaDB are skipped." >&2
	@path="$$PATH:/usr/sbin"; \
	if PATH="$$path" command -v mariadbd >/dev/null && PATH="$$path" command -v mariadb-install-db >/dev/null \
		&& PATH="$$path" command -v my_print_defaults >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "Installing mariadb-server-core ..."; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends mariadb-server-core mariadb-client-core; } || \
			echo "MariaDB can't be installed: its tests are skipped." >&2; \
	else \
		echo "No MariaDB server: its tests are skipped" \
			"(sudo apt-get install mariadb-server-core mariadb-client-core, then run make again)." >&2; \
	fi

# What reads exports: PyTorch first, in the version that the tests were run with, so that nothing larger is chosen.
training: $(READY_DEV)
	@$(PY) -c 'import torch' 2>/dev/null || $(PY) -m pip install --quiet torch==2.13.0 || \
		echo "PyTorch can't be installed: the tests of training are skipped." >&2
	@$(PY) -m pip install --quiet --editable ".[export,training]" || \
		echo "datasets and trl can't be installed: their tests are skipped." >&2

# Clusters of two processes and of two nodes on this machine, which the tests start and stop.
test-ray: $(READY_DEV) ray
	$(PY) -m pytest tests/full/test_ray.py -p no:xdist

# Frameworks exclude each other, so each has an environment of its own. One that can't be installed is skipped.
# `make bridges BRIDGES=mcp` tests one.
BRIDGES := trl verifiers inspect openenv mcp described agents sb3
NEEDS_trl := -e .[trl]
NEEDS_verifiers := -e .[verifiers,sketch2code]
NEEDS_inspect := -e .[inspect,sketch2code]
NEEDS_openenv := -e .[openenv]
NEEDS_mcp := -e .[mcp]
NEEDS_described := -e . textarena browsergym-core textworld
NEEDS_agents := -e . openai smolagents[openai] openai-agents langgraph
NEEDS_sb3 := -e . stable-baselines3

bridges: $(READY_DEV)
	@failed=; \
	$(foreach name,$(BRIDGES),echo "== $(name)"; tests/full/bridge.sh $(name) $(NEEDS_$(name)) || failed="$$failed $(name)";) \
	if [ -n "$$failed" ]; then echo "The bridges that failed:$$failed" >&2; exit 1; fi

ray: $(READY_DEV)
	@$(call install,ray) || echo "Ray can't be installed: its tests are skipped." >&2

trackers: $(READY_DEV)
	@$(call install,mlflow wandb tensorboard) || \
		echo "The trackers' packages can't be installed: their tests are skipped." >&2

# Nothing is fetched while it is built, and a warning is an error.
docs: $(READY_DEV)
	$(PY) -m sphinx -W --keep-going -q docs build/docs
	@echo "The site is in build/docs: open build/docs/index.html, or python -m http.server -d build/docs"

# The page docs/learning/tutorial.md is the notebook's text; executing it takes minutes.
notebook: $(READY)
	@$(call install,notebook)
	@$(PY) docs/learning/notebook.py

check: lint test

lint: $(READY_DEV)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

bench: $(READY_DEV) $(BROWSER)
	@for file in benchmarks/*.py; do $(PY) $$file || exit 1; done

setup: $(READY)

# PyTorch is not pinned: which build is right depends on the machine.
lock:
	uv lock
	uv export --quiet --frozen --no-hashes --no-annotate --no-emit-project $(PINNED:%=--extra %) --output-file constraints.txt

# The product and no more. A name that only complains (a pyenv shim) is no Python.
$(READY): pyproject.toml uv.lock
	@set -e; found=; without_venv=; \
	for python in python3.13 python3.12 python3.11 python3; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		if $$python -c 'import venv, ensurepip' 2>/dev/null; then found=$$python; break; fi; \
		without_venv=$$python; \
	done; \
	if [ -z "$$found$$without_venv" ]; then \
		echo "iad needs Python 3.11 or newer, and found none; install one and run make again." >&2; exit 1; \
	fi; \
	if [ -z "$$found" ]; then \
		found=$$without_venv; \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "Installing python3-venv ..."; apt-get update -qq && apt-get install -y -qq python3-venv; \
		else \
			echo "iad needs the Python module venv: sudo apt-get install python3-venv, then run make again." >&2; exit 1; \
		fi; \
	fi; \
	echo "Setting up $(VENV) with $$($$found --version): once, about two minutes and 500 MB ..."; \
	$$found -m venv $(VENV); \
	$(call install); \
	touch $@

# What tests, types, plots and the documentation need as well.
$(READY_DEV): $(READY)
	@echo "Adding to $(VENV) what tests and documentation need: once, about two minutes and 550 MB more ..."
	@$(call install,dev sketch2code)
	@touch $@

# Sketch2Code draws pages in a browser, and one environment shops in it; nothing else needs one.
$(BROWSER): $(READY)
	@set -e; \
	if ! command -v chromium chromium-browser google-chrome chrome >/dev/null && [ -z "$$IAD_CHROMIUM" ]; then \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "Installing chromium ..."; \
			(apt-get update -qq && apt-get install -y -qq chromium fonts-liberation) >/dev/null || echo "No chromium: Sketch2Code will not run." >&2; \
		else \
			echo "IAD/Sketch2Code-v0 needs a Chromium: sudo apt-get install chromium fonts-liberation." >&2; \
		fi; \
	fi; \
	if ! command -v chromedriver >/dev/null && [ -z "$$IAD_CHROMEDRIVER" ]; then \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "Installing chromium-driver ..."; \
			(apt-get update -qq && apt-get install -y -qq chromium-driver) >/dev/null || echo "No chromedriver: its tests are skipped." >&2; \
		else \
			echo "IAD/WebShopBrowser-v0 needs chromedriver: sudo apt-get install chromium-driver." >&2; \
		fi; \
	fi; \
	touch $(BROWSER)

# A language model for tests: 34 MB of llama.cpp, and 98 MB of weights in the user's data folder.
$(MODEL): $(READY)
	@$(call install,local) && \
		$(PY) -c 'from iad_policy.models.local.files import fetched; fetched("smollm2", say=lambda text: None)' || \
		echo "No language model on this machine: its tests are skipped (make test-model tries again)." >&2
	@touch $@

clean:
	rm -rf $(VENV) $(LUCENE) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
