#!/bin/sh
# Run the tests of PyTorch's workers, long ones included, with other versions of PyTorch: check_pytorch.sh VERSION…
# Each is installed in build/pytorch-VERSION, and kept. Exit codes: 0 all pass, 1 some do not, 2 one cannot be installed.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || {
    echo "check-pytorch: which versions? e.g. make check-pytorch TORCH=\"2.4.1 2.8.0\"" >&2
    exit 2
}
code=0
for version; do
    python=$PWD/build/pytorch-$version/bin/python
    [ -x "$python" ] || "$(tests/tools/python.sh)" -m venv "build/pytorch-$version"
    "$python" -m pip install -q "torch==$version" numpy pytest pytest-xdist || exit 2
    echo "PyTorch $version"
    BENCH_PYTHON=$python CHECK_LONG=1 tests/tools/pytest.sh --all-cores tests/pytorch || code=1
done
exit $code
