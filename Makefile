# Two commands from nothing: `make demo` and `make test`. Both make .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# One BLAS and torch thread per process: on small machines two threads in a process are slower than two processes.
export OMP_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Shells around libraries that the environment does not have; they have no examples in docstrings.
NOT_HERE := $(foreach name,avalanche lightning transformers,--ignore=src/recollect/integrations/$(name).py)

.PHONY: demo test check unit docs docs-check dist clean help

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --constraint constraints.txt --group dev --editable '.[all]'
	touch $@

demo: $(READY)  ## run the demo and write a report
	$(BIN)/recollect demo

test: check unit  ## everything: the checks, then the tests

check: $(READY)  ## style, types, layers, examples in docstrings, README and guides, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest --doctest-modules src $(NOT_HERE) --doctest-glob='*.md' README.md docs/*.md docs/learners/*.md
	$(BIN)/python docs/generate.py --check
	$(BIN)/python docs/gallery.py --check
	$(BIN)/python results/make_tables.py --check

unit: $(READY)  ## the test suite
	$(BIN)/pytest -n 2 --dist loadfile tests

docs: $(READY)  ## write the generated pages, then the site
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

dist: $(READY)  ## build the wheel and the source archive
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

clean:  ## remove what was made, the environment too
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache
