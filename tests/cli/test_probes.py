"""The probes of kernels compile, and polls are compiled as they are meant. They run on a GPU only."""

import shutil
import sys
from pathlib import Path

import pytest
from project import ROOT, ran

PROBES = [
    ("mlp", "-DWIDTH=256"),
    ("on_chip", "-DHIDDEN=512"),
    ("mlp", "-DWIDTH=256 -DSTAMPED"),
    ("linreg", "-DPOINTS=500000 -DSTAMPED"),
    ("on_chip", "-DHIDDEN=512 -DSTAMPED"),
    ("on_chip", "-DHIDDEN=2048"),
    ("stream", ""),
    ("tiled", "-DHIDDEN=4096"),
]
RUNGS = [
    (
        "mlp_train/08_on_chip_split_tf32",
        "-DWIDTH=784 -DDEPTH=4 -DBATCH=64 -DDTYPE_TF32=0 "
        f"-include {ROOT}/tests/tools/mlp_workload.cuh",
    ),
    ("mnist_train/06_on_chip", f"-DHIDDEN=1024 -include {ROOT}/tests/tools/mnist_workload.cuh"),
]
FEW = 1


def compiled(source: Path, output: Path, *options: str) -> None:
    """Compile with nvcc for a GPU with clusters."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    if shutil.which("g++") is None:
        pytest.skip("nvcc needs g++")
    ran(
        "nvcc", "-arch=sm_90a", "-std=c++17", "-I", ROOT / "kernels", *options, "-o", output, source
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(*probe, id=" ".join(probe), marks=[] if i < FEW else pytest.mark.long)
        for i, probe in enumerate(PROBES)
    ],
)
def test_probes_compile(tmp_path: Path, name: str, options: str) -> None:
    source = ROOT / "tests" / "tools" / f"{name}_probes.cu"
    compiled(source, tmp_path / "probe.ptx", "-ptx", "-Xcicc", "-O1", *options.split())


@pytest.mark.long
@pytest.mark.parametrize(("rung", "options"), RUNGS, ids=[rung for rung, _ in RUNGS])
def test_loads_of_a_poll_are_under_way_together(tmp_path: Path, rung: str, options: str) -> None:
    if shutil.which("cuobjdump") is None:
        pytest.skip("cuobjdump is not installed")
    cubin = tmp_path / "rung.cubin"
    compiled(ROOT / "kernels" / f"{rung}.cu", cubin, "-cubin", "-O3", *options.split())
    tool = ROOT / "tests" / "tools" / "poll_loads.py"
    done = ran(sys.executable, tool, cubin, expect=None)
    assert "loads, 0 waits" in done.stdout
    assert done.returncode == 0, done.stdout
