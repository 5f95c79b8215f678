#!/bin/sh
# pytest with the project's Python (the one with PyTorch, pytest and NumPy). Prints why tests were skipped.
#   pytest.sh ARGUMENTS…               one process
#   pytest.sh --all-cores ARGUMENTS…   one for each core and one more, since tests also wait, at most eight
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$("$root/tests/tools/python.sh")
if [ "${1:-}" = --all-cores ]; then
    shift
    # The tests of a file share what they have built and run.
    set -- -n "$(($(nproc) + 1))" --maxprocesses 8 --dist loadfile "$@"
fi
# Not what else is installed for pytest: it would be imported by each process.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
# Each process would compile all tests anew, and every worker of PyTorch all of its modules.
unset PYTHONDONTWRITEBYTECODE
exec "$python" -m pytest -p xdist.plugin -q -rfEs "$@"
