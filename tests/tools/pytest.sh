#!/bin/sh
# pytest with the project's Python: the one that has PyTorch, with pytest and NumPy. Tells why tests were skipped.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$("$root/tests/tools/python.sh")" -m pytest -q -rfEs "$@"
