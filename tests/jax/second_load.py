"""Load other inputs into open cases; print what that changes, and what is traced or compiled."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_jax"))

import jax
import numpy as np

import mlp_infer
from device import CpuDevice
from linreg_train import LinregTrain
from mlp_infer import Aot, MlpInfer, Overlap
from mlp_train import MlpTrain
from mnist_train import MnistTrain
from protocol import CaseSpec
from timing import no_mark

compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _seconds, **_: compiled.append(event) if "/compile/" in event else None
)


class AsOnAGpu(CpuDevice):
    """The CPU, with the copies of a GPU: XLA's CPU has pinned memory, too."""

    kind = "cuda"


def leaves(read: Any) -> list[np.ndarray]:
    found = jax.tree.leaves(read)
    return [np.asarray(leaf, dtype=np.float64) for leaf in found]


def same(left: Any, right: Any) -> bool:
    return all(np.array_equal(*pair) for pair in zip(leaves(left), leaves(right), strict=True))


def told(case: Any, load: Callable[[], None], fresh: Any) -> dict[str, Any]:
    """Compare a case that loads the inputs of `fresh` with that case."""
    case.run()
    before = case.read()
    before_load = len(compiled)
    load()
    case.run()
    after = case.read()
    n_compiled = len(compiled) - before_load
    case.run()
    fresh.run()
    return {
        "compiled": n_compiled,
        "changed": not same(before, after),
        "right": same(after, fresh.read()),
        "repeatable": same(after, case.read()),
    }


def spec_of(workload: str, variant: str, **params: Any) -> CaseSpec:
    return CaseSpec("c", workload, "jax", "cpu", variant, "f32", params)


def infer(variant: str, device: CpuDevice, layers: tuple[int, ...]) -> dict[str, Any]:
    spec = spec_of("mlp_infer", variant, batch=23, layers=list(layers))
    one, other = (MlpInfer().make_inputs(spec, seed) for seed in (1, 2))
    first, second = (MlpInfer().open(spec, inputs, device, no_mark) for inputs in (one, other))
    assert isinstance(first, {"jit": mlp_infer.Jit, "aot": Aot, "overlap": Overlap}[variant])
    return told(first, lambda: first.load(other), second)


def linreg(variant: str, device: CpuDevice) -> dict[str, Any]:
    spec = spec_of("linreg_train", variant, points=50, epochs=25, rate=0.01)
    one, other = (LinregTrain().make_inputs(spec, seed) for seed in (1, 2))
    first, second = (LinregTrain().open(spec, points, device, no_mark) for points in (one, other))
    return told(first, lambda: first.load(other), second)


def training(workload: Any, device: CpuDevice, variant: str, **params: Any) -> dict[str, Any]:
    specs = [spec_of(workload.__name__, variant, seed=seed, **params) for seed in (1, 2)]
    one, other = (workload().make_inputs(spec, 0) for spec in specs)
    first, second = (
        workload().open(spec, inputs, device, no_mark)
        for spec, inputs in zip(specs, (one, other), strict=True)
    )
    return told(first, lambda: first.load(other), second)


def main() -> int:
    cpu, as_gpu = CpuDevice(), AsOnAGpu()
    mlp_infer._CHUNK_SAMPLES = 10  # so that there are several, of different sizes
    found = {
        "mlp_infer jit": infer("jit", cpu, (4, 5, 1)),
        "mlp_infer jit, copies": infer("jit", as_gpu, (4, 5, 1)),
        "mlp_infer aot": infer("aot", cpu, (4, 5, 1)),
        "mlp_infer aot, wide": infer("aot", cpu, (20, 30, 7)),
        "mlp_infer aot, copies": infer("aot", as_gpu, (4, 5, 1)),
        "mlp_infer overlap, copies": infer("overlap", as_gpu, (4, 5, 1)),
        "linreg_train jit": linreg("jit", cpu),
        "linreg_train scan": linreg("scan", cpu),
        "linreg_train scan, copies": linreg("scan", as_gpu),
    }
    mnist = {"hidden": 16, "batch": 32, "steps": 5, "rate": 0.1}
    mlp = {"width": 16, "depth": 3, "batch": 7000, "epochs": 1, "rate": 0.1}
    for variant in ("jit", "scan"):
        found[f"mnist_train {variant}"] = training(MnistTrain, cpu, variant, **mnist)
        found[f"mlp_train {variant}"] = training(MlpTrain, cpu, variant, **mlp)
    found["mnist_train scan, copies"] = training(MnistTrain, as_gpu, "scan", **mnist)
    assert compiled, "the listener hears of compilations"
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
