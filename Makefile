# Every target sets up .venv once; afterwards no code is downloaded.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
STAMP  := $(VENV)/installed
QUIET  := -o verbosity_subtests=0
LOCKED := install --quiet --require-hashes --no-deps --only-binary :all:
WHEEL  := wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheels

.DEFAULT_GOAL := help
.PHONY: help cifar10 mnist moments uci active toy depth coverage stability shift report docs wheels test test-long test-all benchmark lint clean

help: ## list the targets
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml $(wildcard locks/*.lock)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bnnbench needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip $(LOCKED) -r locks/packages.lock
	$(RUN) -m pip $(LOCKED) -r locks/torch-cpu.lock || { \
	    echo "no CPU build of torch for this Python on this machine: installing the build on PyPI"; \
	    $(RUN) -m pip $(LOCKED) -r locks/torch.lock; }
	$(RUN) -m pip install --quiet --no-deps --no-build-isolation -e .
	$(RUN) -m pip check
	touch $@

cifar10: $(STAMP) ## benchmark image classifiers on CIFAR-10 and write the report
	$(RUN) -m suites.cifar10 $(ARGS)

mnist: $(STAMP) ## benchmark image classifiers on few and many MNIST images
	$(RUN) -m suites.mnist $(ARGS)

moments: $(STAMP) ## compare propagated moments with samples, layer by layer, and write the report
	$(RUN) -m suites.moment_accuracy $(ARGS)

uci: $(STAMP) ## benchmark regression on UCI data and write the report
	$(RUN) -m suites.uci $(ARGS)

active: $(STAMP) ## benchmark active learning on UCI data and write the report
	$(RUN) -m suites.active_learning $(ARGS)

toy: $(STAMP) ## compare predictions on noisy cubics with HMC and write the report
	$(RUN) -m suites.toy $(ARGS)

depth: $(STAMP) ## compare all methods on one noisy curve, with networks of 2 to 6 layers
	$(RUN) -m suites.toy --profile depth $(ARGS)

coverage: $(STAMP) ## measure how often many networks cover a known function far from the data
	$(RUN) -m suites.toy --profile coverage $(ARGS)

stability: $(STAMP) ## benchmark networks trained on moments and others on digits under noise and attack
	$(RUN) -m suites.stability $(ARGS)

shift: $(STAMP) ## benchmark function-space and other methods on CIFAR-10 under 19 corruptions and attack
	$(RUN) -m suites.cifar10_shift $(ARGS)

report: $(STAMP) ## rebuild every report from results/ without fitting
	$(RUN) -m bnnbench report results $(ARGS)

docs: $(STAMP) ## build the documentation into build/docs
	$(RUN) -m mkdocs build --strict --quiet
	@echo build/docs/index.html

wheels: $(STAMP) ## build the wheels of bnnbench and of its finished runs into build/wheels
	rm -rf build/wheels build/lib build/bdist.* release/results/build
	$(RUN) -m pip $(WHEEL) ./release/results
	BNNBENCH_RESULTS_WHEEL=$$(echo $(CURDIR)/build/wheels/*.whl) $(RUN) -m pip $(WHEEL) .
	@ls build/wheels/*.whl

test: $(STAMP) ## run the tests, but for those marked as long (about five minutes on two idle cores)
	$(RUN) -m pytest -n logical $(QUIET) $(ARGS)

test-long: $(STAMP) ## run the tests that are marked as long
	$(RUN) -m pytest -n 3 -m long $(QUIET) $(ARGS)

test-all: test test-long ## run all tests

benchmark: $(STAMP) ## time methods, metrics and engine with pytest-benchmark
	mkdir -p results
	test ! -f results/benchmark.json || cp results/benchmark.json results/benchmark_previous.json
	$(RUN) -m pytest tests/benchmarks --benchmark-only --benchmark-json=results/benchmark.json $(ARGS)

lint: $(STAMP) ## run ruff and pyright
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pyright --pythonpath $(RUN)

clean: ## remove the environment, but not data and results
	rm -rf $(VENV)
