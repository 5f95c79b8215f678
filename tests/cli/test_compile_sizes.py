"""`bench compile --once`: each kernel only for the last of its sizes in the sweep."""

import json
from pathlib import Path

from project import bench

SWEEP = {
    "schema": 1,
    "name": "sizes",
    "workload": "mlp_infer",
    "axes": {"batch": [1, 64], "layers": [[4, 5, 1]], "dtype": ["f32", "f16"]},
    "contenders": [{"engine": "cuda", "variants": ["05_f16", "06_batch_constant"]}],
    "arch": ["sm_90"],
}


def test_once_compiles_each_kernel_for_its_last_size(tmp_path: Path) -> None:
    sweep = tmp_path / "sizes.json"
    sweep.write_text(json.dumps(SWEEP), "utf-8")
    every, once = compiled(sweep), compiled(sweep, "--once")
    assert ("06_batch_constant", "BATCH=1") in every
    assert {batch for name, batch in once if name == "06_batch_constant"} == {"BATCH=64"}
    assert {name for name, _ in once} == {name for name, _ in every}


def compiled(sweep: Path, *options: str) -> set[tuple[str, str | None]]:
    answer = bench("compile", sweep, "--json", "--cache", sweep.parent / "cache", *options)
    programs = json.loads(answer.stdout)["programs"]
    return {(p["variant"], batch_of(p["defines"])) for p in programs if p["status"] == "ok"}


def batch_of(defines: list[str]) -> str | None:
    return next((define for define in defines if define.startswith("BATCH=")), None)


def test_once_keeps_what_techniques_compile(tmp_path: Path) -> None:
    sweep = tmp_path / "sums.json"
    rung = {
        "engine": "cuda",
        "variants": ["04_weight_streaming"],
        "techniques": {"accumulate": ["f32", "f16"]},
    }
    text = {**SWEEP, "name": "sums", "workload": "mnist_train", "contenders": [rung]}
    text["axes"] = {"hidden": [128], "dtype": ["f16"]}
    sweep.write_text(json.dumps(text), "utf-8")
    answer = bench("compile", sweep, "--json", "--cache", tmp_path / "cache", "--once")
    assert len(json.loads(answer.stdout)["programs"]) == 2
