"""Worked examples (tests/fixtures/examples): from a folder to a verdict without a GPU."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from operator_folders import make_project
from project import (
    FIXTURES,
    QUICK_MEASURE,
    ROOT,
    bench,
    compiler_options,
    read_cases,
    write_sweep,
)

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

NAMES = ("linreg_train", "mlp_infer", "mlp_train", "mnist_train")
OF_PROJECT = [ROOT / "kernels" / name for name in NAMES]
FOLDERS = [*(FIXTURES / "examples").iterdir(), *OF_PROJECT]
EXAMPLES = {path.name: path for path in sorted(FOLDERS, key=lambda path: path.name)}
SHORT = ("layer_norm_backward", "top_k")
SIZES: dict[str, dict[str, list[Any]]] = {
    "adam": {"n": [1001]},
    "causal_attention": {"length": [33]},
    "embedding": {"tokens": [65]},
    "layer_norm_backward": {"rows": [65]},
    "mlp_infer": {"batch": [17], "layers": [[4, 5, 1], [3, 4, 2, 6]], "dtype": ["f32", "f16"]},
    "mlp_train": {
        "width": [24],
        "batch": [32],
        "images": [70],
        "epochs": [1],
        "dtype": ["f32", "tf32"],
    },
    "top_k": {"cols": [101]},
    "linreg_train": {"points": [4, 1001, 100001], "epochs": [23]},
    # In float16 a step at a small rate changes few weights, so that one of them counts for much.
    "mnist_train": {
        "hidden": [64],
        "steps": [3],
        "images": [96],
        "rate": [0.25],
        "dtype": ["f16", "mixed", "f32"],
    },
    "two_layers": {"batch": [17]},
}
CONTENDERS: list[dict[str, Any]] = [
    {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "inference"]},
    {"engine": "jax", "device": ["cpu"], "variants": ["jit", "aot"]},
]
OF_A_TRAINING = [
    CONTENDERS[0],
    {"engine": "jax", "device": ["cpu"], "variants": ["jit", "scan"]},
]
TRAININGS = ("linreg_train", "mlp_train", "mnist_train", "two_layers")
BY_STEP = ("mlp_train", "mnist_train")
IN_C = {
    "linreg_train": [{"engine": "cpu", "variants": [name]} for name in ("omp", "ref")],
    "mlp_infer": [{"engine": "cpu", "variants": ["omp"]}],
    "mlp_train": [{"engine": "cpu", "variants": ["omp"]}],
    "mnist_train": [{"engine": "cpu", "variants": ["omp"]}],
}
# Less work by default: a check runs the reference there.
SMALLER = {
    "linreg_train": {"points": 5000, "epochs": 20},
    "mlp_train": {"width": 24, "batch": 32, "images": 70, "epochs": 1},
    "mnist_train": {"images": 96, "steps": 3},
}
RATES = {"mnist_train": 100}
OF_MLP = ["--set", "epochs=1", "--set"]
OF_MNIST = ["--set", "images=96", "--set", "steps=3", "--set"]
NARROWEST = ["--set", "hidden=64", "--set"]
NARROW = "#if HIDDEN <= 128\n#define RANKS 2\n#define WIDTH 128\n#define OWN 32\n"
# By rung: others of it that take narrow layers, too, and with few blocks.
DEFINED = {
    "04_weight_streaming": {"": "#define NARROWEST_STREAMED 128\n"},
    "06_on_chip": {
        "": f"{NARROW}#define CLUSTERED 1\n#endif\n",
        "_in_groups": f"{NARROW}#define CLUSTERED 0\n#endif\n",
    },
    "07_tiled_stream": {
        "": "#define NARROWEST 64\n",
        "_short_ring": "#define NARROWEST 64\n#define SLOTS 5\n",
    },
}
# Rungs that small sizes skip: with a cluster, and one that needs all of its blocks.
MORE_RUNS = {
    # Whole eights, three layers; two rows of tiles, of which the last batch has one, and single words.
    "mlp_train": [
        [*OF_MLP, "width=24", "--set", "images=70", "--set", "batch=32", "--set", "depth=3"],
        [*OF_MLP, "width=5", "--set", "images=130", "--set", "batch=100", "--set", "depth=2"],
    ],
    "mnist_train": [
        [*OF_MNIST, "batch=32", "--set", "hidden=128"],
        ["--variant", "04_weight_streaming", *OF_MNIST, "batch=32", *NARROWEST, "accumulate=f16"],
        # Padded images and neurons.
        *(
            ["--variant", rung, *OF_MNIST, "batch=20", "--set", "hidden=72"]
            for rung in ("06_on_chip", "06_on_chip_in_groups")
        ),
        # A stage is longer than the ring.
        ["--variant", "07_tiled_stream_short_ring", *OF_MNIST, "batch=32", "--set", "hidden=384"],
    ],
    "mlp_infer": [["--set", "layers=4-5-1", "--set", "batch=2049"]],
    "linreg_train": [
        [],
        *(
            ["--variant", rung, "--set", f"points={points}", "--set", "epochs=13"]
            for rung, points in (("06_persistent", 20001), ("06_persistent", 240001))
        ),
        ["--variant", "08_lean_epochs", "--set", "points=4400000", "--set", "epochs=2"],
    ],
}
NOT_TRIED = ("JAX is not installed", "for dtype f32 only")


def test_these_are_the_examples() -> None:
    assert SIZES.keys() == EXAMPLES.keys()


def smaller(folder: Path, copy: Path) -> Path:
    """Copy the folder of a training with less work by default; its rungs include the project's."""
    copy.mkdir()
    for path in folder.iterdir():
        if path.suffix == ".cu":
            for suffix, defined in DEFINED.get(path.stem, {"": ""}).items():
                text = f'{defined}#include "{folder.name}/{path.name}"\n'
                (copy / f"{path.stem}{suffix}.cu").write_text(text, "utf-8")
        elif path.suffix != ".cuh":
            shutil.copy(path, copy)
    path = copy / "workload.json"
    described = json.loads(path.read_text("utf-8"))
    described["name"] = "smaller"
    for name, size in SMALLER[folder.name].items():
        described["params"][name]["default"] = size
    described["scalars"][0]["value"] *= RATES.get(folder.name, 1)
    path.write_text(json.dumps(described), "utf-8")
    return copy


@pytest.mark.parametrize(
    "name", [n if n in SHORT else pytest.param(n, marks=pytest.mark.long) for n in EXAMPLES]
)
def test_the_rung_is_right(name: str, tmp_path: Path) -> None:
    folder = EXAMPLES[name]
    runs = MORE_RUNS.get(name, [[]])
    if name in SMALLER:
        folder = smaller(folder, tmp_path / name)
    printed = [bench("workload", "check", folder, "--emulate", *more).stdout for more in runs]
    for rung in folder.glob("*.cu"):
        if "library" in rung.stem:  # host code is not emulated
            continue
        assert any(re.search(rf"  {rung.stem} +right in \d", text) for text in printed), printed
    for text in printed:
        assert "ok: the description, and the reference" in text


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_rungs_compile(name: str) -> None:
    compiler_options()
    folder = EXAMPLES[name]
    arch = ["--arch", "sm_75,sm_90", "--quick"]
    done = bench("compile", "--workload", folder, *arch, "--json", expect=None)
    programs = json.loads(done.stdout)["programs"]
    for program in programs:  # of host code without the library's header
        lacks = program["status"] == "failed" and "cublasLt.h: No such file" in program["reason"]
        assert lacks or program["status"] in ("ok", "skipped"), program["reason"]
    assert {rung.stem for rung in folder.glob("*.cu")} <= {p["variant"] for p in programs}


@pytest.mark.parametrize("names", [SHORT, pytest.param(list(EXAMPLES), marks=pytest.mark.long)])
def test_every_contender_is_right(names: list[str], tmp_path: Path) -> None:
    sweeps = []
    for name in names:
        root = make_project(EXAMPLES[name], tmp_path / "project")
        keys = {"measure": {**QUICK_MEASURE, "min_rounds": 2}, "axes": SIZES[name]}
        contenders = OF_A_TRAINING if name in TRAININGS else CONTENDERS
        contenders = contenders + IN_C.get(name, [])
        sweeps.append(write_sweep(tmp_path / f"{name}.json", name, contenders, **keys))
    bench("run", *sweeps, "--out", tmp_path / "run", root=root, expect=None)
    cases = read_cases(tmp_path / "run").values()
    sizes = {name: math.prod(len(values) for values in SIZES[name].values()) for name in names}
    assert len(cases) == sum(n * (4 + len(IN_C.get(name, []))) for name, n in sizes.items())
    for case in cases:
        if not (case["reason"] or "").startswith(NOT_TRIED):
            assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"], case["reason"]
            if case["workload"] == "two_layers":
                assert [step for step, _ in case["results"]["loss"]] == list(range(60)), case["id"]
            assert ("step" in case["phases"]) == (case["workload"] in BY_STEP), case["id"]
