# Everything runs in .venv. The first target that needs it creates it from constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt
HOLD ?=
PYTEST ?= # more options for make test, such as PYTEST='--durations 30'
# What make test-installed installs, and the tests that it runs there.
PACKAGE ?= .
WITHOUT_TORCH := tests/trees tests/parsing $(addprefix tests/cli/test_,draw.py parse.py score.py) \
	$(addprefix --ignore=tests/parsing/test_,chart.py damage.py network.py onnx_network.py) \
	-k 'not bfloat16 and not parser_is_trained'
AWAY := .cache/installed
MINUTES ?= 5
SEED ?= 1
BENCHMARKS := reading accumulate training_step documents loading translating

.DEFAULT_GOAL := help
.PHONY: help install demo test torture test-java test-browser test-encoders test-notebooks test-installed docs docs-pages screenshots lint format benchmark constraints clean

help: ## list the targets
	@echo 'usage: make TARGET [PYTHON=python3.12]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

install: $(INSTALLED) ## create .venv with the pinned versions and the package, editable

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'error: $(PYTHON) must be Python 3.11 or newer; name another one: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
		echo 'error: $(PYTHON) has no venv module; install it (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }
	@echo 'Installing the pinned versions into $(VENV); the first time this downloads torch and takes minutes.'
	test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
	$(PIP_INSTALL) hatchling
	$(PIP_INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## train a Tree Transformer and a Transformer side by side, print both scores
	$(BIN)/python examples/demo.py

test: $(INSTALLED) ## run the tests and the examples in docstrings, on all cores
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST)

torture: $(INSTALLED) ## kill, damage and fuzz everything for MINUTES=5, with SEED=1; failures go to .cache/torture
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m tests.torture --minutes $(MINUTES) --seed $(SEED)

test-java: $(INSTALLED) ## install CoreNLP into .cache/corenlp (1.4 GB, needs Java and Maven) and test with it
	$(BIN)/python -m treeformer parser install corenlp --folder .cache/corenlp --language en --language de --language fr
	OMP_NUM_THREADS=1 CORENLP_HOME=.cache/corenlp $(BIN)/python -m pytest -m java tests/parsing tests/serving

test-encoders: $(INSTALLED) ## install two encoders into .cache/encoders (downloads 400 MB) and test with them
	$(BIN)/python -m treeformer encoder install minilm --folder .cache/encoders
	$(BIN)/python -m treeformer encoder install bge-small --folder .cache/encoders
	OMP_NUM_THREADS=1 TREEFORMER_ENCODERS=.cache/encoders $(BIN)/python -m pytest -m encoders tests/encoders

test-notebooks: $(INSTALLED) ## run the notebooks of the tutorials
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m notebooks tests/test_notebooks.py

test-installed: ## install PACKAGE=. (or a wheel, or an sdist) without torch in an empty environment; run its tests that need none
	rm -rf $(AWAY) && $(PYTHON) -m venv $(AWAY)/venv
	$(AWAY)/venv/bin/python -m pip install --disable-pip-version-check --quiet '$(PACKAGE)[code,nltk]' pytest hypothesis
	cp -r tests pyproject.toml $(AWAY)
	cd $(AWAY) && OMP_NUM_THREADS=1 venv/bin/python -m pytest $(WITHOUT_TORCH)

docs: $(INSTALLED) ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-pages: $(INSTALLED) ## write the pages and pictures of the documentation that scripts make
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/notebooks.py

screenshots: $(INSTALLED) ## write the pictures of the page for the documentation (needs Chromium; TRANSLATION=RUN)
	CORENLP_HOME=$${CORENLP_HOME:-$$PWD/.cache/corenlp} $(BIN)/python docs/screenshots.py $(if $(TRANSLATION),--translation $(TRANSLATION))

test-browser: $(INSTALLED) ## install Chromium (Debian's, needs root) and test the page with it
	@if ! command -v chromium > /dev/null || ! command -v chromedriver > /dev/null; then \
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then \
			echo 'error: chromium and chromedriver are missing, and installing them needs root on Debian or Ubuntu:' >&2; \
			echo '    apt install chromium chromium-driver' >&2; exit 1; fi; \
		apt-get update --quiet && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet chromium chromium-driver fonts-liberation; fi
	$(BIN)/python -m tests.browser.axe
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m browser tests/browser

lint: $(INSTALLED) ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED) ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(INSTALLED) ## run the benchmarks one after the other
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done
	@echo "== training_step by length"
	@$(BIN)/python -m benchmarks.training_step --lengths 20 50 100 --device cpu --cpu-time

constraints: ## pin the newest versions that pyproject.toml allows, but those in HOLD='name==version ...'
	$(PYTHON) -m venv --clear .venv-constraints
	.venv-constraints/bin/python -m pip install --quiet '.[dev]' $(HOLD)
	{ sed '/^[^#]/d' constraints.txt; \
		.venv-constraints/bin/python -m pip freeze --all --exclude pip --exclude treeformer; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf .venv-constraints

clean: ## remove the environment and everything built
	rm -rf $(VENV) .venv-constraints constraints.new build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find treeformer tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
