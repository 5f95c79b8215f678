#!/bin/sh
# clang-format from the project's Python: the same version everywhere, because versions format differently.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$("$root/tests/tools/python.sh")" -c 'import clang_format; clang_format.clang_format()' "$@"
