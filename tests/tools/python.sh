#!/bin/sh
# Print the Python that runs PyTorch workers and the Python tests: $BENCH_PYTHON, .venv's, or python3.
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${BENCH_PYTHON:-}" ]; then
    echo "$BENCH_PYTHON"
elif [ -x "$root/.venv/bin/python3" ]; then
    echo "$root/.venv/bin/python3"
else
    command -v python3
fi
