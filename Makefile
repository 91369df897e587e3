# Extra arguments: make run ARGS="--port 9000", make test ARGS="-k pins"
ARGS ?=
bin := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup run test check format clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## make .venv with Ondol in it and import the starter model
	@packaging/setup.sh

run: setup  ## start Ondol
	@exec $(bin)/ondol serve $(ARGS)

test: setup  ## run the tests
	$(bin)/python -m pytest $(ARGS)

check: setup  ## lint, format, types and imports
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy --strict engine
	$(bin)/lint-imports

format: setup  ## put the source into its form
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

clean:  ## remove .venv and what the tools left behind; models and data stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
