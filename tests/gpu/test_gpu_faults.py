"""Kernels that go wrong on a real GPU, and a batch too large for it: each costs its own case."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from project import BENCH, bench, make_root, read_cases, read_header, write_sweep


def no_gpu() -> str | None:
    """Return why there is no GPU to test on."""
    if not BENCH.exists():
        return f"{BENCH} is not built"
    lines = bench("list", "devices").stdout.splitlines()
    if any(re.match(r"cuda +0 ", line) for line in lines):
        return None
    return next((line for line in lines if line.startswith("cuda")), "no CUDA device")


REASON = no_gpu()
pytestmark = pytest.mark.gpu(REASON)

BATCHES = [64, 1000]
RIGHT = "02_thread_per_sample"
# Long enough for a new process to open the device, and far shorter than the slow kernel.
TIMEOUT_S = 25  # mood: in no suite but that of a GPU, whose minutes are lent
SLOW_S = 240

# Each is the right rung with one change.
STORE = "y[(size_t)sample * sizes[N_LAYERS - 1] + o] = in[o];"
BOUND = "if (sample >= (unsigned)batch)"
CHANGES = {
    "90_wrong": (STORE, STORE.replace("in[o]", "in[o] + 1")),
    "91_out_of_bounds": (STORE, STORE.replace("(size_t)sample", "((size_t)1 << 38) + sample")),
    "92_slow": (
        BOUND,
        f"""unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < {SLOW_S}000000000ull);
    {BOUND}""",
    ),
    "93_unwritten": (BOUND, BOUND.replace("batch)", "batch || sample % 2 == 1)")),
}


def make_rungs(root: Path) -> None:
    folder = root / "kernels" / "mlp_infer"
    right = (folder / f"{RIGHT}.cu").read_text(encoding="utf-8")
    for name, (before, after) in CHANGES.items():
        assert right.count(before) == 1, f"{RIGHT}.cu is not what it was"
        (folder / f"{name}.cu").write_text(right.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project's folder with rungs that go wrong."""
    root = make_root(tmp_path_factory.mktemp("faults") / "project", copy="kernels")
    make_rungs(root)
    return root


Run = tuple[dict[str, dict[str, Any]], Path]


@pytest.fixture(scope="module")
def run(root: Path) -> Run:
    """Return the cases of one run of them all, and its folder."""
    variants = [*list(CHANGES)[:2], RIGHT, *list(CHANGES)[2:]]
    sweep = write_sweep(
        root.parent / "faults.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": variants}, {"engine": "cpu", "variants": ["omp"]}],
        axes={"batch": BATCHES},
    )
    folder = root.parent / "run"
    bench("run", sweep, "--out", folder, "--timeout", f"{TIMEOUT_S}s", root=root, expect=1)
    assert read_header(folder)["finished"]
    return read_cases(folder), folder


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    ("contender", "status", "reason"),
    [
        ("cpu/omp", "ok", None),
        (f"cuda/{RIGHT}", "ok", None),
        ("cuda/90_wrong", "wrong", r"y differs from the reference output: relative L2 error \d"),
        ("cuda/91_out_of_bounds", "failed", r"worker cuda died .*_\w+ \(7\d\d\): .*; first try: "),
        ("cuda/92_slow", "failed", "worker cuda did not answer in time"),
        (
            "cuda/93_unwritten",
            "wrong",
            "y differs from the reference output: .*relative L2 error",
        ),
    ],
)
def test_fault_costs_its_own_case_only(
    run: Run, contender: str, batch: int, status: str, reason: str | None
) -> None:
    case = run[0][f"mlp_infer/{contender}/batch={batch}"]
    assert case["status"] == status, case["reason"]
    assert (case["reason"] is None) == (reason is None)
    assert reason is None or re.search(reason, case["reason"], re.DOTALL)
    assert bool(case["phases"].get("total", {}).get("samples")) == (status == "ok")


@pytest.mark.parametrize("copy", ["pageable", "pinned", "mapped"])
def test_what_is_left_unwritten_is_noticed_with_every_technique(
    root: Path, tmp_path: Path, copy: str
) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {
                "engine": "cuda",
                "variants": ["93_unwritten"],
                "techniques": {
                    "copy": [copy],
                    "alloc": ["malloc", "arena"],
                    "launch": ["stream", "graph"],
                },
            }
        ],
    )
    bench("run", sweep, "--out", tmp_path / "run", root=root, expect=1)
    cases = read_cases(tmp_path / "run")
    statuses = [c["status"] for name, c in cases.items() if name.startswith("mlp_infer/")]
    assert "wrong" in statuses
    assert set(statuses) <= {"wrong", "skipped"}


def test_batch_that_does_not_fit_is_skipped_with_the_numbers(run: Run, tmp_path: Path) -> None:
    memory_bytes = read_header(run[1])["environment"]["gpu"]["memory_bytes"]
    host_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    batch = 2**28
    # Inputs of twice what the larger memory holds; whichever is looked at first is too small.
    n_inputs = int(2 * max(memory_bytes, host_bytes) / (4 * batch)) + 1
    if n_inputs > 4096:
        pytest.skip(f"no sweep can be too large for {memory_bytes} and {host_bytes} bytes")
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": [RIGHT]}],
        axes={"batch": [batch, 64], "layers": [[n_inputs, 4, 1]]},
    )
    bench("run", sweep, "--out", tmp_path / "run")
    cases = read_cases(tmp_path / "run")
    layers = f"layers={n_inputs}-4-1"
    case = cases[f"mlp_infer/cuda/{RIGHT}/batch={batch}/{layers}"]
    assert case["status"] == "skipped"
    assert re.fullmatch(
        r"needs [\d.]+ [GT]B of (host|device) memory, [\d.]+ [MGT]B (of [\d.]+ [GT]B )?are free",
        case["reason"],
    )
    assert cases[f"mlp_infer/cuda/{RIGHT}/batch=64/{layers}"]["status"] == "ok"
