#!/bin/sh
# pytest with the project's Python (the one with PyTorch, pytest and NumPy). Prints why tests were skipped.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$("$root/tests/tools/python.sh")" -m pytest -q -rfEs "$@"
