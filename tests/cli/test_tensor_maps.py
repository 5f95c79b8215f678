"""Rungs with tensor maps: the transpose of docs/tensor-maps.md on the fake GPU and on the CPU, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from operator_folders import X, Y, write_operator
from project import ROOT, bench, compiler_options
from test_operator_cuda import REPEATS, SAMPLE, Gpu, cuda, ok

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

TRANSPOSE = ROOT / "tests" / "gpu" / "transpose"
ARCHS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]

# It reads and writes where the maps say; and knows whether these are the arrays that it got.
IN_C = """
    #include "rungs.h"
    #include <string.h>
    static void run_transpose(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        const long long rows = AT(long long, 3), cols = AT(long long, 4);
        fake_map_t from, to;
        memcpy(&from, arguments[5], sizeof from);
        memcpy(&to, arguments[6], sizeof to);
        if (from.address != AT(char *, 0) || to.address != AT(char *, 1))
            note("a map of other memory");
        for (long long i = 0; i < rows * cols; i++)
            ((float *)to.address)[i % cols * rows + i / cols] = ((const float *)from.address)[i];
    }
    const kernel_t transpose = {.name = "transpose", .argument_bytes = {8, 8, 8, 8, 8, 128, 128},
                                .n_arguments = 7, .run = run_transpose};
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TRANSPOSE, tmp_path / "transpose"))


def maps_of(gpu: Gpu) -> list[str]:
    """Return the calls that encoded, in order."""
    lines = gpu.launched.read_text(encoding="utf-8").splitlines()
    assert "a map of other memory" not in lines
    return [line for line in lines if line.startswith("map ")]


def test_maps_follow_the_arrays(tmp_path: Path, folder: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=IN_C)
    sizes = {"rows": [8], "cols": [100]}
    ways: list[dict[str, list[str]]] = [
        {"alloc": ["arena"]},
        {"alloc": ["malloc"], "copy": ["pageable"]},
        {"alloc": ["async"]},
        {"alloc": ["arena"], "launch": ["graph"]},
        {"copy": ["mapped"]},
    ]
    found = {}
    for way in ways:
        gpu.launched.unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "transpose_run", ignore_errors=True)
        (case,) = gpu.run(folder, [cuda("01_tma", **way)], axes=sizes).values()
        assert ok(case) >= {"host_to_host", "kernel_graph", "kernel_stream", "kernel_cold"}
        found["/".join(sum(way.values(), []))] = maps_of(gpu)
    x = "map type=7 sizes=100,8 box=32,32 strides=400 steps=1,1 interleave=0 swizzle=3 l2=0 fill=0"
    y = "map type=7 sizes=8,100 box=32,32 strides=32 steps=1,1 interleave=0 swizzle=3 l2=0 fill=0"
    # Where addresses stay, two maps are encoded once; else in samples, and again for launches on fixed arrays.
    for way in ("arena", "arena/graph", "mapped"):
        assert found[way] == [x, y], way
    for way in ("malloc/pageable", "async"):
        assert set(found[way]) == {x, y}
        assert len(found[way]) > 4, way
