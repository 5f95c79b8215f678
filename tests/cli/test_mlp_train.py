"""mlp_train on the command line: bad and extreme parameters, contenders that agree, divergence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, make_root, read_cases, write_sweep

CPU = {"engine": "cpu", "variants": ["omp"]}
ORACLE = {"engine": "cpu", "variants": ["ref"]}
EAGER = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}


@pytest.fixture(scope="session")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project's folder in which only the synthetic set is found."""
    top = tmp_path_factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


def train(
    folder: Path,
    contenders: list[dict[str, Any]],
    axes: dict[str, list[Any]],
    root: Path,
    expect: int = 0,
) -> dict[str, dict[str, Any]]:
    sweep = write_sweep(folder / "s.json", "mlp_train", contenders, axes=axes)
    bench("run", sweep, "--out", folder / "run", expect=expect, root=root, MNIST_DIR="")
    return read_cases(folder / "run")


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
def test_refused_parameter_costs_nothing(
    key: str, value: int, expected: str, tmp_path: Path
) -> None:
    sweep = write_sweep(tmp_path / "s.json", "mlp_train", [CPU], axes={key: [value]})
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    problem = f"$.axes.{key}[0]: found integer {value}, expected {expected}"
    assert done.stderr == f"bench: {sweep}: {problem}\n"
    options = ["--workload", "mlp_train", "--set", f"{key}={value}", "--out", tmp_path / "run"]
    assert problem in bench("run", *options, expect=2).stderr
    assert not (tmp_path / "run").exists()


def test_unknown_allocator_is_refused(tmp_path: Path) -> None:
    contender = {"engine": "cuda", "variants": ["*"], "techniques": {"allocator": ["buddy"]}}
    sweep = write_sweep(tmp_path / "s.json", "mlp_train", [contender])
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    assert 'unknown choice "buddy" (known: caching, malloc, async, arena)' in done.stderr


def test_contenders_agree_where_the_batch_does_not_divide_the_images(
    project_without_images: Path, tmp_path: Path
) -> None:
    axes = {"width": [4], "depth": [2, 5], "batch": [16_000, 60_000], "epochs": [2]}
    cases = train(tmp_path, [CPU, ORACLE, EAGER], axes, project_without_images)
    assert len(cases) == 12
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # no PyTorch here
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        results, steps = case["results"], -(-60_000 // case["params"]["batch"])
        assert results["dataset"] == "synthetic"
        assert [step for step, _ in results["loss"]] == [0, 2 * steps - 1]
        assert [epoch["epoch"] for epoch in results["epochs"]] == [1, 2]
        assert results["epochs"][1]["accuracy"] == results["accuracy"]
        assert results["epochs"][0]["validation_loss"] == pytest.approx(2.3, abs=0.2)
        phases = case["phases"]
        assert phases["step"]["median"] == pytest.approx(phases["train"]["median"] / steps)
        assert {"train", "validate", "total", "residual", "step"} <= set(phases)


def test_what_omp_is_not_written_for_is_skipped(
    project_without_images: Path, tmp_path: Path
) -> None:
    axes = {"width": [4, 513], "batch": [60_000], "epochs": [1], "dtype": ["f32", "tf32"]}
    cases = train(tmp_path, [CPU], axes, project_without_images)
    told = {
        (case["params"]["width"], case["dtype"]): (case["status"], case["reason"])
        for case in cases.values()
    }
    other = ("skipped", "dtype tf32: only f32 is written for omp")
    assert told == {
        (4, "f32"): ("ok", None),
        (513, "f32"): ("skipped", "width 513: omp is written for at most 512"),
        (4, "tf32"): other,
        (513, "tf32"): other,
    }


def test_rate_that_diverges_fails_with_the_step(
    project_without_images: Path, tmp_path: Path
) -> None:
    axes = {"width": [64], "depth": [4], "batch": [600], "epochs": [1], "rate": [1000]}
    cases = train(tmp_path, [CPU, EAGER], axes, project_without_images, expect=1)
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # no PyTorch here
        assert case["status"] == "failed"
        assert re.fullmatch(r"loss is not finite from step [1-9]\d* on", case["reason"])


def test_sweep_is_what_is_planned() -> None:
    done = bench("plan", "sweeps/mlp_train.json", cwd=ROOT)
    ids = {line.split()[1] for line in done.stdout.splitlines()[:-1]}
    for width in (256, 784):
        for rung in ("01_naive", "02_tiles", "03_registers", "04_graph"):
            assert f"mlp_train/cuda/{rung}/width={width}" in ids
        for mode in ("dataloader", "eager", "compile", "graph"):
            assert f"mlp_train/pytorch-cuda/{mode}/width={width}" in ids
        for allocator in ("malloc", "async", "arena"):
            name = rf"mlp_train/cuda/\w+/width={width}/allocator={allocator}"
            assert any(re.fullmatch(name, planned) for planned in ids)
