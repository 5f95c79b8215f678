"""mlp_train on the fake driver: phases, driver calls of each allocator, and refusals.

A driver that computes nothing makes all finished cases wrong. In one run the driver runs the
operators on the host.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_driver import WITH_OPERATORS, build_driver
from project import (
    EPOCH_MEASURE,
    FIXTURES,
    bench,
    compiler_options,
    make_root_without_images,
    ran,
    read_cases,
    write_sweep,
)

Cases = dict[tuple[str, str], dict[str, Any]]
"""Cases by variant and allocator."""

PHASES = ["train", "validate", "driver", "total", "residual", "step"]
PHASES += ["train_device", "validate_device"]
AXES = {"05_persistent": {"width": [16], "epochs": [1]}}
"""16 is the smallest supported."""
BATCH = 64
STEPS = 938
"""Steps of an epoch of 60000 images; the last has 32 of them."""
MEMORY = "-DMEMORY_MIB=2000"


def train(
    folder: Path,
    root: Path,
    contenders: dict[str, list[str]],
    *flags: str,
    **environment: str,
) -> Cases:
    """Return the cases of the variants, each with its allocators."""
    compiler_options()
    driver = build_driver(folder / "lib", *flags)
    sweep = write_sweep(
        folder / "s.json",
        "mlp_train",
        [
            {
                "engine": "cuda",
                "variants": [rung],
                "techniques": {"allocator": allocators},
                "axes": AXES.get(rung, {"width": [4], "epochs": [2]}),
            }
            for rung, allocators in contenders.items()
        ],
        axes={"width": [4, 16], "depth": [3], "batch": [BATCH], "epochs": [1, 2]},
        measure=EPOCH_MEASURE,
    )
    keys = {
        **driver,
        "MNIST_DIR": "",
        "BENCH_CUPTI": "none",
        **environment,
    }
    # The measurement of the device finds that nothing is computed: the run fails.
    options = ["--no-pytorch", "--out", folder / "run"]
    bench("run", sweep, *options, expect=1, root=root, **keys)
    return {
        (case["variant"], case["techniques"]["allocator"]): case
        for name, case in read_cases(folder / "run").items()
        if name.startswith("mlp_train/")
    }


@pytest.fixture(scope="module")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root_without_images(tmp_path_factory)


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory, project_without_images: Path) -> Cases:
    """Return the cases with a driver that computes nothing and has no memory pools."""
    contenders = {
        "01_naive": ["caching", "malloc", "arena", "async"],
        "04_graph": ["caching", "arena"],
    }
    folder = tmp_path_factory.mktemp("silent")
    return train(folder, project_without_images, contenders, MEMORY, "-DWITHOUT_POOL")


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory, project_without_images: Path) -> Cases:
    """Return the cases with a driver that runs the operators and a CUPTI that reports kernels."""
    contenders = {
        "01_naive": ["malloc"],
        "04_graph": ["arena", "malloc", "async"],
        "05_persistent": ["caching"],
    }
    folder = tmp_path_factory.mktemp("computed")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    source, library = FIXTURES / "fakes" / "cupti.c", folder / "libcupti.so.13"
    ran(compiler, "-shared", "-fPIC", "-o", library, source)
    keys = {"BENCH_CUPTI": str(library)}
    flags = [MEMORY, "-DCLUSTERS=4", "-DCLUSTER_BLOCKS=4", *WITH_OPERATORS]
    return train(folder, project_without_images, contenders, *flags, **keys)


# ---- nothing is computed ---------------------------------------------------------------------------


def test_phases_and_results(silent: Cases) -> None:
    for rung in ("01_naive", "04_graph"):
        case = silent[rung, "caching"]
        assert case["status"] == "wrong", case["reason"]
        assert "gradient_0 differs from the reference output" in case["reason"]
        assert set(case["phases"]) == set(PHASES)
        assert ("graph" in case["once_ns"]) == (rung == "04_graph")
        results = case["results"]
        assert results["allocator"] == "caching"
        assert [epoch["epoch"] for epoch in results["epochs"]] == [1, 2]
        assert [step for step, _ in results["loss"]] == [*range(0, 2 * STEPS, 10), 2 * STEPS - 1]
        assert results["accuracy"] == results["epochs"][-1]["accuracy"]
        assert "split" not in results


def test_only_the_first_epoch_calls_the_driver(silent: Cases) -> None:
    kinds = ("caching", "malloc", "arena")
    epochs = {kind: silent["01_naive", kind]["results"]["epochs"] for kind in kinds}
    # Allocations of a step: images 1, hidden layers 2 * 2, logits and loss 2, backward 2 * 2,
    # gradients 3 * 2; of the validation: hidden layers 2 * 2, logits 1.
    calls = STEPS * 17 + 5
    for kind in kinds:
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
    # All allocators provide the same memory.
    assert len({epochs[kind][1]["peak_bytes"] for kind in epochs}) == 1


def test_graph_allocates_only_during_capture(silent: Cases, computed: Cases) -> None:
    for kind in ("caching", "arena"):
        case = silent["04_graph", kind]
        assert case["status"] == "wrong", case["reason"]
        first, second = case["results"]["epochs"]
        assert first["driver_calls"] > 0 and second["driver_calls"] == 0
        assert second["calls"] == 3  # of the validation
    for kind in ("malloc", "async"):
        case = computed["04_graph", kind]
        assert case["status"] == "skipped"
        assert f"allocator {kind} returns memory to the driver" in case["reason"]


def test_driver_without_pools(silent: Cases) -> None:
    assert silent["01_naive", "caching"]["status"] == "wrong"
    assert silent["01_naive", "async"]["status"] == "skipped"
    assert "older than CUDA 11.2" in silent["01_naive", "async"]["reason"]


def test_images_that_exceed_device_memory_are_skipped(
    tmp_path: Path, project_without_images: Path
) -> None:
    contenders = {"01_naive": ["caching"]}
    (case,) = train(tmp_path, project_without_images, contenders, "-DMEMORY_MIB=200").values()
    assert case["status"] == "skipped"
    assert "of device memory, 210 MB of 210 MB are free" in case["reason"]


def test_blocks_that_wait_for_each_other_must_all_fit(
    tmp_path: Path, project_without_images: Path
) -> None:
    contenders = {"05_persistent": ["caching"]}
    flags = [MEMORY, "-DCLUSTERS=3", "-DCLUSTER_BLOCKS=4"]
    (case,) = train(tmp_path, project_without_images, contenders, *flags).values()
    assert case["status"] == "skipped"
    assert case["reason"] == (
        'kernel "train_steps": 16 blocks in clusters of 4 wait for each other; 12 fit on this GPU at '
        "the same time"
    )


# ---- the operators run on the host -----------------------------------------------------------------


def check_training(results: dict[str, Any], expected: dict[str, Any]) -> None:
    losses, own = ([loss for _, loss in each["loss"]] for each in (expected, results))
    assert own == pytest.approx(losses, 1e-3)
    first, second = results["epochs"]
    assert first["validation_loss"] > second["validation_loss"] > 0
    assert second["accuracy"] == pytest.approx(expected["epochs"][1]["accuracy"], abs=2e-3)


def test_training_on_the_host_is_correct(computed: Cases) -> None:
    """The loop of every variant, with graphs of many steps and a smaller last batch."""
    done = {key: case for key, case in computed.items() if case["status"] != "skipped"}
    assert len(done) == 3
    for case in done.values():
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        losses = [loss for _, loss in case["results"]["loss"]]
        # Each loss copied from a graph's window belongs to its step.
        assert len(set(losses)) > 90
        if case["variant"] not in AXES:
            check_training(case["results"], computed["01_naive", "malloc"]["results"])


def test_an_epoch_in_one_launch_allocates_once(computed: Cases) -> None:
    for epoch in computed["05_persistent", "caching"]["results"]["epochs"]:
        assert epoch["calls"] == 1 + 3  # and of the validation


def test_cupti_splits_the_time(computed: Cases) -> None:
    """The fake CUPTI reports a kernel of 1 µs every 20 µs."""
    for key in (("01_naive", "malloc"), ("04_graph", "arena")):
        split = computed[key]["results"]["split"]
        assert 0 < split["kernels_ns"] <= split["epoch_ns"] / 20 + 1000
        assert split["driver_ns"] == 0  # it reports no calls
