"""mlp_train on the command line: bad and extreme parameters, contenders that agree, divergence."""

import re
from pathlib import Path
from typing import Any

import pytest
from project import (
    EPOCH_MEASURE,
    ROOT,
    bench,
    make_root_without_images,
    read_cases,
    write_sweep,
)

pytestmark = pytest.mark.usefixtures("warm_workers")

OMP = {"engine": "cpu", "variants": ["omp"]}
ORACLE = {"engine": "cpu", "variants": ["ref"]}
EAGER = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}
BATCH = 113
STEPS = 531
"""Steps of an epoch of 60000 images; the last has 110 of them."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the cases of one run: three correct ones, skipped ones and diverging ones."""
    usual = {"width": [4], "depth": [3], "batch": [BATCH], "rate": [0.1], "dtype": ["f32"]}
    apart = {**usual, "width": [64], "depth": [4], "batch": [600], "rate": [1000]}
    tf32 = {**usual, "dtype": ["tf32"]}
    contenders = [{**each, "axes": usual} for each in (OMP, ORACLE, EAGER)]
    contenders += [{**OMP, "axes": apart}, {**EAGER, "axes": apart}, {**OMP, "axes": tf32}]
    axes = {
        "width": [4, 64],
        "depth": [3, 4],
        "batch": [BATCH, 600],
        "epochs": [2],
        "rate": [0.1, 1000],
    }
    folder = tmp_path_factory.mktemp("mlp")
    sweep = write_sweep(
        folder / "s.json",
        "mlp_train",
        contenders,
        axes={**axes, "dtype": ["f32", "tf32"]},
        measure=EPOCH_MEASURE,
    )
    options = ["--out", folder / "run"]
    root = make_root_without_images(tmp_path_factory)
    bench("run", sweep, *options, expect=1, root=root, MNIST_DIR="")
    return read_cases(folder / "run")


def case_of(
    cases: dict[str, dict[str, Any]],
    variant: str,
    *,
    width: int = 4,
    dtype: str = "f32",
    rate: float = 0.1,
) -> dict[str, Any]:
    (case,) = (
        case
        for case in cases.values()
        if (case["variant"], case["dtype"]) == (variant, dtype)
        and (case["params"]["width"], case["params"]["rate"]) == (width, rate)
    )
    if case["engine"] == "pytorch" and case["status"] == "skipped":
        pytest.skip(case["reason"])  # PyTorch is not installed
    return case


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("width", 0, "an integer 1…8192"),
        ("width", 8193, "an integer 1…8192"),
        ("depth", 1, "an integer 2…16"),
        ("depth", 17, "an integer 2…16"),
        ("batch", 0, "an integer 1…60000"),
        ("batch", 60001, "an integer 1…60000"),
        ("epochs", 0, "an integer 1…1000"),
        ("rate", 0, "a number 1e-09…1000"),
        ("seed", 0, "an integer 1…2147483647"),
    ],
)
def test_refused_parameter_measures_nothing(
    key: str, value: int, expected: str, tmp_path: Path
) -> None:
    sweep = write_sweep(tmp_path / "s.json", "mlp_train", [OMP], axes={key: [value]})
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    problem = f"found integer {value}, expected {expected}"
    assert done.stderr == f"bench: {sweep}: $.axes.{key}[0]: {problem}\n"
    options = ["--workload", "mlp_train", "--set", f"{key}={value}", "--out", tmp_path / "run"]
    assert f"bench: --set {key}: {problem}\n" in bench("run", *options, expect=2).stderr
    assert not (tmp_path / "run").exists()


def test_unknown_allocator_is_refused(tmp_path: Path) -> None:
    contender = {"engine": "cuda", "variants": ["*"], "techniques": {"allocator": ["buddy"]}}
    sweep = write_sweep(tmp_path / "s.json", "mlp_train", [contender])
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    assert 'unknown choice "buddy" (known: caching, malloc, async, arena)' in done.stderr


@pytest.mark.parametrize("variant", ["omp", "ref", "eager"])
def test_contenders_are_correct(cases: dict[str, dict[str, Any]], variant: str) -> None:
    case = case_of(cases, variant)
    assert case["status"] == "ok", case["reason"]
    assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
    assert case["results"]["dataset"] == "synthetic"
    phases = case["phases"]
    assert phases["step"]["median"] == pytest.approx(phases["train"]["median"] / STEPS)
    assert {"train", "validate", "total", "residual", "step"} <= set(phases)


def test_contenders_agree_if_the_batch_does_not_divide_the_images(
    cases: dict[str, dict[str, Any]],
) -> None:
    omp, eager = (case_of(cases, variant)["results"] for variant in ("omp", "eager"))
    for results in (omp, eager):
        # In addition to every tenth step, only the last of the training is recorded.
        assert [step for step, _ in results["loss"]] == [*range(0, 2 * STEPS, 10), 2 * STEPS - 1]
        assert [epoch["epoch"] for epoch in results["epochs"]] == [1, 2]
        assert results["epochs"][1]["accuracy"] == results["accuracy"]
    losses, expected = ([loss for _, loss in each["loss"]] for each in (omp, eager))
    assert losses == pytest.approx(expected, rel=1e-3)
    for own, other in zip(omp["epochs"], eager["epochs"], strict=True):
        assert own["validation_loss"] == pytest.approx(other["validation_loss"], rel=1e-4)
        assert own["accuracy"] == pytest.approx(other["accuracy"], abs=2e-3)


def test_case_unsupported_by_omp_is_skipped(cases: dict[str, dict[str, Any]]) -> None:
    """The unit tests have the other reasons: here, wide cases would need their reference first."""
    case = case_of(cases, "omp", dtype="tf32")
    assert (case["status"], case["reason"]) == (
        "skipped",
        "dtype tf32: only f32 is written for omp",
    )


@pytest.mark.parametrize("variant", ["omp", "eager"])
def test_rate_that_diverges_fails_with_the_step(
    cases: dict[str, dict[str, Any]], variant: str
) -> None:
    case = case_of(cases, variant, width=64, rate=1000)
    assert case["status"] == "failed"
    assert re.fullmatch(r"loss is not finite from step [1-9]\d* on", case["reason"])


def test_sweep_has_the_planned_cases() -> None:
    done = bench("plan", "sweeps/mlp_train.json", cwd=ROOT)
    ids = {line.split()[1] for line in done.stdout.splitlines()[:-1]}
    for width in (256, 784):
        for rung in ("01_naive", "02_tiles", "03_registers", "04_graph"):
            assert f"mlp_train/cuda/{rung}/width={width}" in ids
        for mode in ("graph", "compile_graph", "manual_graph"):
            assert f"mlp_train/pytorch-cuda/{mode}/width={width}" in ids
        for allocator in ("malloc", "async", "arena"):
            name = rf"mlp_train/cuda/\w+/width={width}/allocator={allocator}"
            assert any(re.fullmatch(name, planned) for planned in ids)
    for mode in ("dataloader", "eager", "compile"):
        assert f"mlp_train/pytorch-cuda/{mode}/width=784" in ids


def test_sweep_of_allocators_has_all_of_them() -> None:
    done = bench("plan", "sweeps/allocate.json", cwd=ROOT)
    ids = {line.split()[1] for line in done.stdout.splitlines()[:-1]}
    for live in (1, 100, 10000):
        for allocator in ("caching", "malloc", "async", "arena"):
            assert f"allocate/cuda/{allocator}/live={live}" in ids
        for other in ("cpu/caching", "cpu/arena", "pytorch-cuda/caching"):
            assert f"allocate/{other}/live={live}" in ids
