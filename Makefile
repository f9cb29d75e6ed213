# Flexor. `make demo` and `make test` are all that a newcomer needs; `make help` lists the rest.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD ?= build
PYTHON := $(CURDIR)/.deps/venv/bin/python
SOURCES = $(shell find src bench examples plugins -name '*.h' -o -name '*.cpp')

.PHONY: help deps ready build demo test plugins bundle cross bench format format-check lint sanitize fuzz clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 16

deps:  ## install the distribution packages and .deps/venv (torch, pyarrow)
	@tools/install_deps.sh

ready:
	@tools/install_deps.sh --if-needed

build: ready  ## the program, build/flexor
	@tools/build.sh $(BUILD) flexor

demo: build  ## fine-tune pi0.5 on the bundled videos, run RECAP on it, write reports
	@tools/demo.sh $(BUILD)/flexor

test: ready  ## build and run every test
	@tools/build.sh $(BUILD) all
	@$(PYTHON) tools/run_tests.py $(BUILD) --jobs $(JOBS)

sanitize: ready  ## build into build-sanitize with clang and run every test under ASan and UBSan
	@tools/install_deps.sh --clang
	@tools/build.sh build-sanitize all -DFLEXOR_SANITIZE=ON -DCMAKE_CXX_COMPILER=clang++
	@$(PYTHON) tools/run_tests.py build-sanitize --jobs $$(($(JOBS) + 1)) --sanitize  # some wait more than they work

fuzz: ready  ## build the fuzz targets of tests/fuzz with clang and run them for a minute
	@tools/fuzz.sh

plugins: build  ## build the device back ends against their vendors' wheels and test them without devices
	@tools/plugins.sh $(BUILD)/flexor

bundle: build  ## one tar that runs on a bare machine: program, libraries, recipes (with the back ends that are built)
	@tools/bundle.py $(BUILD)/flexor $(if $(wildcard build-plugins/libflexor_*.so),--plugins build-plugins)

cross: ready  ## compile and link everything for aarch64
	@tools/cross_check.sh

bench: ready  ## run the benchmarks of bench/ (JSON lines)
	@tools/build.sh $(BUILD) all
	@bench/run.sh $(BUILD)

format:  ## format all sources
	@tools/install_deps.sh --dev
	@.deps/venv/bin/clang-format -i $(SOURCES)

format-check:  ## fail when a source is not formatted
	@tools/install_deps.sh --dev
	@.deps/venv/bin/clang-format --dry-run --Werror $(SOURCES)

lint: ready  ## clang-tidy on the sources changed since main (all with LINT=all)
	@tools/install_deps.sh --dev
	@tools/build.sh build-lint help -DFLEXOR_UNITY=OFF >/dev/null && $(PYTHON) tools/lint.py build-lint $(LINT)

clean:  ## remove what was built; the dependencies stay
	rm -rf build build-sanitize build-fuzz build-lint build-plugins build-aarch64 out
