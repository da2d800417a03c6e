# Two commands do everything on a fresh machine with python3, pip and make:
#   make demo    set up, fetch MNIST, and see how many rounds FedAdp saves
#   make test    set up, and pass lint, types and the whole suite
#   make test-flower    run Flower for real, and its oldest and newest version (five minutes)
#   make chaos   break a federation in every way we know of, and see that nothing is lost (minutes)
#   make fuzz    ten minutes of hostile input for each of the four readers of files and replies
#   make audit   ask whether a pinned package has a known vulnerability
#   make bench   measure against peers, each in an environment of its own (over an hour)

PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
# the newest Flower; the oldest is in constraints.txt
NEWEST := 1.42.0
.PHONY: help env demo test lint types suite test-flower audit chaos fuzz security bench clean

help:
	@sed -n 's/^#   //p' Makefile

env: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "fedadp needs Python 3.11 or later: make PYTHON=python3.12 env")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: env
	$(BIN)/fedadp compare examples/demo.toml --out runs/demo

test: lint types suite

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env
	$(BIN)/mypy

suite: env
	$(BIN)/pytest -n auto

# simulations and deployments mostly wait, so a file each side by side
test-flower: env .venv/newest/ready
	$(BIN)/pytest -n 2 --dist loadfile -m flower tests/live tests/flower
	.venv/newest/bin/python -m pytest -n auto tests/flower tests/deploy
	.venv/newest/bin/python -m pytest -n 2 -m flower \
	  tests/live/test_authentication.py tests/live/test_simulation.py -k 'key or bits'

# the newest Flower over the packages of .venv
.venv/newest/ready: .venv/ready Makefile
	$(BIN)/python -m venv .venv/newest
	$(BIN)/python -c 'import sysconfig; base = sysconfig.get_path("purelib"); \
	  print(f"import site; site.addsitedir({base!r})")' > .venv/newest/base.pth
	mv .venv/newest/base.pth .venv/newest/lib/python3*/site-packages/
	.venv/newest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  flwr==$(NEWEST)
	@touch $@
audit: env
	$(BIN)/python -m security.audit

chaos: env
	$(BIN)/python -m chaos

fuzz: env
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python -m fuzz --seconds 600

security: env
	$(BIN)/python -m security

bench: env
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.table

clean:
	rm -rf .venv runs
