# Extra arguments: make run ARGS="--port 9000", make test ARGS="-k pins"
ARGS ?=
bin := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup run app test fuzz soak check format translations screenshots \
	install-desktop uninstall-desktop install-service uninstall-service clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## make .venv with Ondol in it and import the starter model
	@packaging/setup.sh

ifeq ($(shell uname),Darwin)
run: app  ## start Ondol
	@open build/Ondol.app --args $(ARGS)
else
run: setup
	@exec $(bin)/ondol $(ARGS)
endif

app: setup  ## make build/Ondol.app, which macOS opens
	@$(bin)/python packaging/macos/make_app.py

test: setup  ## run the tests
	@packaging/apt.sh packaging/apt-tests.txt "Tests of the real window need them"
	@$(bin)/python packaging/fetch_test_models.py
	$(bin)/python -m pytest $(ARGS)

fuzz: setup  ## random histories of cache and schedule, a few hundred thousand steps, never the same
	ONDOL_LONG_TESTS=1 $(bin)/python -m pytest -q -o faulthandler_timeout=3600 \
		tests/engine/cache/test_prefix_cache_machine.py \
		tests/engine/cache/test_prefix_cache_volume.py tests/engine/schedule/test_serving_machine.py \
		tests/engine/schedule/test_flights_machine.py \
		$(ARGS)

soak: setup  ## half an hour of a restless household on the starter model
	ONDOL_SOAK_MODEL=starter ONDOL_SOAK_S=1800 $(bin)/python -m pytest -q \
		-o faulthandler_timeout=3600 tests/e2e/test_soak.py $(ARGS)

check: setup  ## lint, format, types and imports
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy --strict engine app
	$(bin)/lint-imports

format: setup  ## put the source into its form
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

translations: setup  ## bring resources/i18n in line with the window's texts
	@$(bin)/python packaging/translations.py

screenshots: setup  ## draw every page into resources/screenshots
	@packaging/apt.sh packaging/apt-screenshots.txt "Screenshots look better with these fonts"
	@$(bin)/python packaging/screenshots/make_screenshots.py $(ARGS)

install-desktop: setup  ## Linux: put Ondol into your application menu
	@$(bin)/python packaging/linux/install.py desktop

uninstall-desktop: setup  ## Linux: take it out again
	@$(bin)/python packaging/linux/install.py desktop --remove

install-service: setup  ## Linux: make `ondol serve` a systemd service of yours
	@$(bin)/python packaging/linux/install.py service

uninstall-service: setup  ## Linux: stop and remove that service
	@$(bin)/python packaging/linux/install.py service --remove

clean:  ## remove .venv and what the tools left behind; models and data stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
