"""mlp_train on the fake driver: phases, what each allocator asks the driver for, and refusals.

Nothing is computed there, so a case that runs to its end is wrong; but for the tests in which the
driver runs the operators on the host.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import FIXTURES, ROOT, bench, compiler_options, make_root, read_cases, write_sweep

PHASES = ["train", "validate", "driver", "total", "residual", "step"]
PHASES += ["train_device", "validate_device"]
NOT_FILLED = {
    "FAKE_CUDA": "cuMemsetD8Async always zeros"
}  # or the losses, poisoned, would not be finite
STEPS = 6
"""Of an epoch of 60000 images, 10001 at a time."""
WITH_OPERATORS = ["-O2", "-DWITH_OPERATORS", "-DMEMORY_MIB=2000"]
WITH_OPERATORS += [f"-I{ROOT}/bench", f"-I{ROOT}/tests", f"{FIXTURES}/fakes/operators.c"]
WITH_OPERATORS += [
    f"{ROOT}/bench/{part}.c"
    for part in ("ground/error", "ground/memory", "workloads/mlp_train_operators")
]


@pytest.fixture(scope="session")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project's folder in which only the synthetic set is found."""
    top = tmp_path_factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


def train(
    folder: Path,
    root: Path,
    rungs: list[str],
    allocators: list[str],
    *flags: str,
    batch: int = 10_001,
    expect: int = 1,
    **environment: str,
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the cases by rung and allocator."""
    compiler_options()
    driver = build_driver(folder / "lib", *(flags or ["-DMEMORY_MIB=1024"]))
    sweep = write_sweep(
        folder / "s.json",
        "mlp_train",
        [{"engine": "cuda", "variants": rungs, "techniques": {"allocator": allocators}}],
        axes={"width": [4], "depth": [3], "batch": [batch], "epochs": [2]},
    )
    keys = {**driver, **NOT_FILLED, "MNIST_DIR": "", "BENCH_CUPTI": "none", **environment}
    bench("run", sweep, "--out", folder / "run", expect=expect, root=root, **keys)
    return {
        (case["variant"], case["techniques"]["allocator"]): case
        for name, case in read_cases(folder / "run").items()
        if name.startswith("mlp_train/")
    }


def test_phases_and_what_a_training_leaves(tmp_path: Path, project_without_images: Path) -> None:
    rungs = ["01_naive", "02_tiles", "03_registers", "04_graph"]
    cases = train(tmp_path, project_without_images, rungs, ["caching"])
    assert {rung for rung, _ in cases} == set(rungs)
    for case in cases.values():
        assert case["status"] == "wrong", case["reason"]
        assert "gradient_0 differs from the oracle" in case["reason"]
        assert set(case["phases"]) == set(PHASES)
        assert ("graph" in case["once_ns"]) == (case["variant"] == "04_graph")
        results = case["results"]
        assert results["allocator"] == "caching"
        assert [epoch["epoch"] for epoch in results["epochs"]] == [1, 2]
        assert [step for step, _ in results["loss"]] == [0, 10, 2 * STEPS - 1]
        assert results["accuracy"] == results["epochs"][-1]["accuracy"]
        assert "split" not in results


def test_cupti_tells_where_the_time_went(tmp_path: Path, project_without_images: Path) -> None:
    """The fake CUPTI has a kernel of 1 µs every 20 µs."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    source, library = FIXTURES / "fakes" / "cupti.c", tmp_path / "libcupti.so.13"
    subprocess.run([str(compiler), "-shared", "-fPIC", "-o", library, source], check=True)
    keys = {"BENCH_CUPTI": str(library)}
    rungs, options = ["01_naive", "04_graph"], WITH_OPERATORS
    cases = train(tmp_path, project_without_images, rungs, ["caching"], *options, **keys)
    for case in cases.values():
        split = case["results"]["split"]
        assert 0 < split["kernels_ns"] <= split["epoch_ns"] / 20 + 1000
        assert split["driver_ns"] == 0  # it tells of no calls


def test_only_the_first_epoch_asks_the_driver(tmp_path: Path, project_without_images: Path) -> None:
    cases = train(tmp_path, project_without_images, ["01_naive"], ["caching", "malloc", "arena"])
    epochs = {kind: case["results"]["epochs"] for (_, kind), case in cases.items()}
    # Of a step: images 1, hidden layers 2 * 2, logits and loss 2, backward 2 * 2, gradients 3 * 2;
    # of the validation: hidden layers 2 * 2, logits 1.
    calls = STEPS * 17 + 5
    for kind in ("caching", "malloc", "arena"):
        assert [epoch["calls"] for epoch in epochs[kind]] == [calls, calls]
    assert epochs["caching"][0]["driver_calls"] > 0
    assert epochs["arena"][0]["driver_calls"] > 0
    for kind in ("caching", "arena"):
        assert epochs[kind][1]["driver_calls"] == 0
        assert epochs[kind][1]["hits"] == calls
        assert epochs[kind][1]["reserved_bytes"] >= epochs[kind][1]["peak_bytes"]
    for epoch in epochs["malloc"]:
        assert epoch["driver_calls"] == 2 * calls
        assert epoch["hits"] == 0
    # Whatever hands out memory, the network needs the same.
    assert len({epochs[kind][1]["peak_bytes"] for kind in epochs}) == 1


def test_graph_asks_while_it_is_captured_only(tmp_path: Path, project_without_images: Path) -> None:
    cases = train(
        tmp_path, project_without_images, ["04_graph"], ["caching", "arena", "malloc", "async"]
    )
    for kind in ("caching", "arena"):
        case = cases["04_graph", kind]
        assert case["status"] == "wrong", case["reason"]
        first, second = case["results"]["epochs"]
        assert first["driver_calls"] > 0 and second["driver_calls"] == 0
        assert second["calls"] == 3  # of the validation
    for kind in ("malloc", "async"):
        case = cases["04_graph", kind]
        assert case["status"] == "skipped"
        assert f"allocator {kind} gives memory back to the driver" in case["reason"]


def test_images_that_do_not_fit_the_device_are_skipped(
    tmp_path: Path, project_without_images: Path
) -> None:
    flags = ["-DMEMORY_MIB=200"]
    (case,) = train(tmp_path, project_without_images, ["01_naive"], ["caching"], *flags).values()
    assert case["status"] == "skipped"
    assert "of device memory, 210 MB of 210 MB are free" in case["reason"]


def test_driver_without_pools(tmp_path: Path, project_without_images: Path) -> None:
    flags = ["-DMEMORY_MIB=1024", "-DWITHOUT_POOL"]
    cases = train(tmp_path, project_without_images, ["01_naive"], ["caching", "async"], *flags)
    assert cases["01_naive", "caching"]["status"] == "wrong"
    assert cases["01_naive", "async"]["status"] == "skipped"
    assert "older than CUDA 11.2" in cases["01_naive", "async"]["reason"]


def test_poison_that_nobody_overwrites_is_found(
    tmp_path: Path, project_without_images: Path
) -> None:
    keys = {"FAKE_CUDA": ""}
    cases = train(tmp_path, project_without_images, ["01_naive"], ["caching"], **keys)
    (case,) = cases.values()
    # Its losses were never written, and new memory is zero: the check poisons it.
    assert case["status"] == "wrong"
    assert "gradient_0" in case["reason"]


def test_training_on_the_host_is_right(tmp_path: Path, project_without_images: Path) -> None:
    """Every rung's loop, with graphs of several hundred steps and a smaller batch at the end.

    The probes of the device itself find that nothing else is computed: the run fails for them.
    """
    cases = train(
        tmp_path,
        project_without_images,
        ["01_naive", "03_registers", "04_graph"],
        ["caching", "malloc", "arena"],
        *WITH_OPERATORS,
        batch=99,
    )
    done = {key: case for key, case in cases.items() if key != ("04_graph", "malloc")}
    assert len(done) == 8
    for case in done.values():
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
    curves = [case["results"]["loss"] for case in done.values()]
    epochs = [case["results"]["epochs"] for case in done.values()]
    for curve, own in zip(curves, epochs, strict=True):
        assert [step for step, _ in curve][-2:] == [1210, 1213]
        assert [loss for _, loss in curve] == pytest.approx([loss for _, loss in curves[0]], 1e-3)
        assert own[0]["validation_loss"] > own[1]["validation_loss"] > 0
        assert own[1]["accuracy"] == pytest.approx(epochs[0][1]["accuracy"], abs=2e-3)
    # A loss that is copied out of a graph's window is of its own step.
    assert len({loss for _, loss in curves[-1]}) > 100


def test_an_epoch_in_one_launch_is_right(tmp_path: Path, project_without_images: Path) -> None:
    """The persistent rung against one of many launches: same losses, and one allocation an epoch."""
    compiler_options()
    driver = build_driver(tmp_path / "lib", *WITH_OPERATORS)
    rungs = ["03_registers", "05_persistent"]
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_train",
        [{"engine": "cuda", "variants": rungs, "techniques": {"allocator": ["caching"]}}],
        axes={"width": [16], "depth": [3], "batch": [64], "epochs": [1]},
    )
    keys = {**driver, **NOT_FILLED, "MNIST_DIR": "", "BENCH_CUPTI": "none"}
    bench("run", sweep, "--out", tmp_path / "run", expect=1, root=project_without_images, **keys)
    cases = {case["variant"]: case for case in read_cases(tmp_path / "run").values()}
    for rung in rungs:
        assert cases[rung]["status"] == "ok", cases[rung]["reason"]
    losses = [[loss for _, loss in cases[rung]["results"]["loss"]] for rung in rungs]
    assert losses[1] == pytest.approx(losses[0], 1e-3)
    (epoch,) = cases["05_persistent"]["results"]["epochs"]
    assert epoch["calls"] == 1 + 3  # and of the validation
