#!/bin/sh
# ruff from the project's Python, on the project's Python files.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$("$root/tests/tools/python.sh")" -m ruff "$@" --quiet "$root"/reference_* "$root/tests"
