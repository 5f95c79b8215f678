#!/bin/sh
# clang-format of the project's Python: of one version everywhere, as each lays code out another way.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$("$root/tests/tools/python.sh")" -c 'import clang_format; clang_format.clang_format()' "$@"
