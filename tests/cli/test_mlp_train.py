"""mlp_train on the command line: contenders that agree, divergence."""

import re
from typing import Any

import pytest
from project import (
    EPOCH_MEASURE,
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
    contenders = [{**each, "axes": usual} for each in (OMP, ORACLE, EAGER)]
    contenders += [{**OMP, "axes": apart}, {**EAGER, "axes": apart}]
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
        axes={**axes, "dtype": ["f32"]},
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
    rate: float = 0.1,
) -> dict[str, Any]:
    (case,) = (
        case
        for case in cases.values()
        if case["variant"] == variant
        and (case["params"]["width"], case["params"]["rate"]) == (width, rate)
    )
    if case["engine"] == "pytorch" and case["status"] == "skipped":
        pytest.skip(case["reason"])  # PyTorch is not installed
    return case


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


@pytest.mark.parametrize("variant", ["omp", "eager"])
def test_rate_that_diverges_fails_with_the_step(
    cases: dict[str, dict[str, Any]], variant: str
) -> None:
    case = case_of(cases, variant, width=64, rate=1000)
    assert case["status"] == "failed"
    assert re.fullmatch(r"loss is not finite from step [1-9]\d* on", case["reason"])
