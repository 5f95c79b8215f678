#!/bin/sh
# Print a Python, as bench/worker/pool.c finds it:
#   python.sh        of PyTorch's worker and the Python tests: $BENCH_PYTHON, .venv's, or python3
#   python.sh jax    of JAX's worker: $BENCH_JAX_PYTHON, .venv-jax's, or that of PyTorch's
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${1:-}" = jax ] && [ -n "${BENCH_JAX_PYTHON:-}" ]; then
    echo "$BENCH_JAX_PYTHON"
elif [ "${1:-}" = jax ] && [ -x "$root/.venv-jax/bin/python3" ]; then
    echo "$root/.venv-jax/bin/python3"
elif [ -n "${BENCH_PYTHON:-}" ]; then
    echo "$BENCH_PYTHON"
elif [ -x "$root/.venv/bin/python3" ]; then
    echo "$root/.venv/bin/python3"
else
    command -v python3
fi
