"""copy=overlapped on a fake GPU that computes."""

from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_gpu
from project import QUICK_MEASURE, bench, read_cases, write_sweep

OVERLAPPED = {"alloc": ["arena"], "copy": ["overlapped"], "weights": ["resident"]}
GRAPH = {"launch": ["graph"]}


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


def run(
    folder: Path,
    environment: dict[str, str],
    techniques: dict[str, list[str]],
    *,
    batches: tuple[int, ...] = (100000,),
    layers: tuple[int, ...] = (4, 5, 1),
    expect: int | None = 0,
) -> list[dict[str, Any]]:
    contender = {"engine": "cuda", "variants": ["02_thread_per_sample"], "techniques": techniques}
    axes = {"batch": list(batches), "layers": [list(layers)]}
    sweep = write_sweep(
        folder / "s.json", "mlp_infer", [contender], axes=axes, measure=QUICK_MEASURE
    )
    bench("run", sweep, "--out", folder / "run", expect=expect, **environment)
    cases = read_cases(folder / "run").values()
    return [case for case in cases if case["workload"] == "mlp_infer"]


@pytest.mark.parametrize(
    ("layers", "launches"), [((300, 1, 1), ["graph"]), ((1, 1, 300), ["stream"])]
)
def test_right_at_every_size(
    layers: tuple[int, ...], launches: list[str], gpu: dict[str, str], tmp_path: Path
) -> None:
    """The input is the larger copy, or the output."""
    batches = (1, 255, 2300)
    techniques = {**OVERLAPPED, "launch": launches}
    cases = run(tmp_path, gpu, techniques, batches=batches, layers=layers, expect=None)
    assert len(cases) == len(batches)
    phases = {"host_to_host", "kernel_graph", "kernel_stream", "kernel_cold"}
    for case in cases:
        # Kernels take the CPU's time here: on a busy machine they may look implausible.
        assert case["status"] in ("ok", "implausible"), case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        assert set(case["phases"]) >= phases
        assert ("total" in case["phases"]) == (launches == ["stream"])


@pytest.mark.parametrize(("batch", "chunks"), [(2300, 2)])
def test_number_of_chunks(batch: int, chunks: int, gpu: dict[str, str], tmp_path: Path) -> None:
    """The smallest chunk has 512 KiB, the one before it four times as much."""
    n = 5 + 2 * chunks  # the weights, x for the kernel alone; the first run, and the captured one
    techniques = "alloc=arena/copy=overlapped/weights=resident/launch=graph"
    case = f"mlp_infer/cuda/02_thread_per_sample/batch={batch}/layers=300-1-1/{techniques}"
    for nth, expect in ((n, 1), (n + 1, 0)):
        folder = tmp_path / str(nth)
        folder.mkdir()
        fault = {"FAKE_CUDA": f"cuMemcpyHtoDAsync_v2 op=open case={case} nth={nth} error=1"}
        run(
            folder,
            {**gpu, **fault},
            {**OVERLAPPED, **GRAPH},
            batches=(batch,),
            layers=(300, 1, 1),
            expect=expect,
        )
