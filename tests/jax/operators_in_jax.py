"""Open operators in a session of JAX, as the supervisor does; print what is not as it must be."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pytorch"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_jax"))

import jax
import numpy as np
import operator_cases as operators
from operator_cases import Opened, given, in_place, output, scalar

import chunks
import forward
import protocol
from device import CpuDevice
from session import Session

SEED = 12345678901234567
HEAD = """
    import torch
    import torch.nn.functional as functional
    from torch import Tensor, nn
    class Model(nn.Module):
        pass
    @torch.no_grad()
    def reference(x: torch.Tensor | None, eps):
        return functional.softmax(x)
    import jax
    import jax.numpy as jnp
    """
SOFTMAX = "def jax_reference(x): return jax.nn.softmax(x, axis=-1)"
NORM = """
    def jax_reference(x, eps, *, cols):
        mean = x.sum(-1, keepdims=True) / cols
        return (x - mean) / jnp.sqrt(x.var(-1, keepdims=True) + eps), mean[:, 0]
    """
ADD = "def jax_reference(x, y): return x + y"
WIDE = "def jax_reference(x): return x.argmax(-1), 2 * x"
TRAINING = """
    def jax_step(p, x, rate, step):
        return p - rate * (step + 1) * (p - x), ((p - x) ** 2).mean(), p[0]
    """
FUSED = "def jax_reference(x, *, fused): return x + fused"
BITS = "def jax_reference(x): return x > 0, (x > 0).astype(jnp.uint8)"


def softmax(x: Any) -> list[Any]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return [e / e.sum(-1, keepdims=True)]


def norm(x: Any) -> list[Any]:
    mean = x.mean(-1, keepdims=True)
    return [(x - mean) / np.sqrt(x.var(-1, keepdims=True) + 0.1), mean[:, 0]]


def training(p: Any, x: Any) -> list[Any]:
    loss, rows = [], []
    for step in range(5):
        loss.append(((p - x) ** 2).mean())
        rows.append(p[0])
        p = p - 0.1 * (step + 1) * (p - x)
    return [p, np.array(loss), np.array(rows[::2])]


PAIR = [given("x", 6, 8), output("y", 6, 8)]
HALF = [given("x", 6, 8, dtype="bf16"), output("y", 6, 8, dtype="bf16")]
# What is written, its arrays and scalars, what NumPy computes in float64, and by how much they differ.
RIGHT: dict[str, tuple[str, list[Any], list[Any], Any, float]] = {
    "softmax": (SOFTMAX, PAIR, [], softmax, 1e-6),
    "bf16": (SOFTMAX, HALF, [], softmax, 1e-2),
    "norm": (NORM, [*PAIR, output("mean", 6)], [scalar("eps", 0.1)], norm, 1e-6),
    "in place": (
        ADD,
        [given("y", 6, 8), in_place("x", 6, 8)],
        [],
        lambda y, x: [x + y],
        1e-6,
    ),
    "staying": (
        "def jax_reference(x, w): return x @ w.T",
        [given("x", 6, 8), {**given("w", 3, 8), "stays": True}, output("y", 6, 3)],
        [],
        lambda x, w: [x @ w.T],
        1e-6,
    ),
    "fixed": (
        "def jax_reference(x, w, u): return x @ w.T + u",
        [
            given("x", 6, 8),
            {**given("w", 3, 8, fill={"kind": "constant", "low": 2}), "stays": True},
            given("u", 3, fill={"kind": "constant", "low": 3}),
            output("y", 6, 3),
        ],
        [],
        lambda x, w, u: [x @ w.T + u],
        1e-6,
    ),
    "parts": (
        "def jax_reference(v, w, u, x, *, rows): return x + v.reshape(rows, 8) @ w.T + u",
        operators.RIGHT["parts"][1],
        [],
        lambda v, w, u, x: [x + v.reshape(6, 8) @ w.T + u],
        1e-6,
    ),
    "lists": (
        "def jax_reference(w, b, x, rate): return [v - rate * x for v in w], b, x.sum(1)",
        *operators.RIGHT["lists"][1:],
        lambda w_0, w_1, b, x: [w_0 - x / 2, w_1 - x / 2, b, x.sum(1)],
        1e-6,
    ),
    "wide": (
        WIDE,
        [
            given("x", 6, 8, dtype="f64"),
            output("i", 6, dtype="i64"),
            output("y", 6, 8, dtype="f64"),
        ],
        [],
        lambda x: [x.argmax(-1), 2 * x],
        0,
    ),
    "bits": (
        BITS,
        [given("x", 6, 8), output("b", 6, 8, dtype="bool"), output("u", 6, 8, dtype="u8")],
        [],
        lambda x: [x > 0, x > 0],
        0,
    ),
    "training": (
        TRAINING,
        [
            in_place("p", 6, 8),
            given("x", 6, 8),
            {**output("loss", 5), "every": 1},
            {**output("rows", 3, 8), "every": 2},
        ],
        [scalar("rate", 0.1)],
        training,
        1e-5,
    ),
    # Steps in groups of two, of which the last one has one.
    "training that records few": (
        "JAX_UNROLLED = 4\n" + TRAINING,
        [
            in_place("p", 6, 8),
            given("x", 6, 8),
            {**output("loss", 3), "every": 2},
            {**output("rows", 2, 8), "every": 4},
        ],
        [scalar("rate", 0.1)],
        lambda p, x: [y[::n] for n, y in zip((1, 2, 2), training(p, x), strict=True)],
        1e-5,
    ),
}
WRONG: dict[str, tuple[str, str]] = {
    "dtype": ("def jax_reference(x): return x > 0", "y is [6, 8] bool, expected [6, 8] float32"),
    "shape": ("def jax_reference(x): return x[0]", "y is [8] float32, expected [6, 8] float32"),
    "two": ("def jax_reference(x): return x, x", "jax_reference returned 2 values, expected 1: y"),
    "none": ("def jax_reference(x): return None", "y is None, expected [6, 8] float32"),
    "signature": ("def jax_reference(x, z): return x", "is called as jax_reference(x): missing a"),
    "missing": ("", "reference.py: no function jax_reference"),
    "raises": ("def jax_reference(x):\n        return x @ x", "reference.py:13: TypeError: "),
    "memory": (
        "import numpy\n    def jax_reference(x): return numpy.empty((1 << 50, 4), numpy.float32)",
        "does not fit into host memory: ",
    ),
    "torch": ("def jax_reference(x): return torch.softmax(x, -1)", "PyTorchIsNotHere"),
}
# What products are computed in: keys of an operator, and the precision that its function finds.
PRECISIONS: list[tuple[dict[str, Any], str]] = [
    ({"types": {"T": "f32"}}, "highest"),
    ({"types": {"T": "f32"}, "tf32": True}, "tensorfloat32"),
    ({"types": {"T": "f16"}}, "default"),
    ({"types": {"T": "f16", "W": "f32"}}, "highest"),
]
PRECISE = """
    def jax_reference(x):
        assert jax.config.jax_default_matmul_precision == "{}"
        return x
    """
compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _seconds, **_: compiled.append(event) if "/compile/" in event else None
)


class AsOnAGpu(CpuDevice):
    """The CPU, with the copies of a GPU: XLA's CPU has pinned memory, too."""

    kind = "cuda"


def close(found: dict[str, Any], expected: list[Any], tolerance: float) -> bool:
    return len(found) == len(expected) and all(
        y.shape == right.shape and np.allclose(y, right, rtol=tolerance, atol=tolerance)
        for y, right in zip(found.values(), expected, strict=True)
    )


def in_float64(inputs: Any) -> list[np.ndarray]:
    bits = [x.astype(np.uint32) << 16 if x.dtype == np.uint16 else x for x in inputs.arrays]
    return [(x.view(np.float32) if x.dtype == np.uint32 else x).astype(np.float64) for x in bits]


def broken(name: str, mode: str, device: CpuDevice, folder: Path) -> list[str]:
    """Return what does not hold for a case."""
    function, arrays, scalars, right, tolerance = RIGHT[name]
    folder = folder / f"{name} {mode} {device.kind}".replace(" ", "_")
    steps = 5 if name.startswith("training") else 0
    described = operators.write(folder, {"reference": HEAD + function}, arrays, scalars, steps)
    session = Session("cpu")
    session._device = device
    opened = Opened(session, described, mode)
    if opened.answer["status"] != "ok":
        return [opened.answer["reason"]]
    refill = session._cases[opened.id].refill
    fixed = dict(opened.case._fixed)
    first = opened.output()
    expected = right(*in_float64(opened.case._inputs))
    n_compiled = len(compiled)
    phases = opened.sample(SEED)
    last = opened.last()
    drawn = right(*in_float64(refill._own))
    again = opened.output(SEED)
    work, runs = opened.case.run, []
    opened.case.run = lambda: (runs.append(1), work())[1]
    audited = [opened.ok(protocol.AuditRequest(opened.id, n))["phase"] for n in (0, 1, 4)]
    del opened.case.run
    whole = {"host_to_host", "total", "residual", "forward"}
    audit = session.handle(protocol.AuditRequest(opened.id, 3, phase="forward"))
    placed = jax.tree.leaves((opened.case._staying, opened.case._x))
    n_compiled = len(compiled) - n_compiled
    n_copied = sum(array["input"] and not array.get("stays", False) for array in arrays)
    checks = {
        "right": close(first, expected, tolerance),
        "last": close(last, drawn, tolerance),
        "again": close(again, drawn, tolerance),
        "drawn anew": not close(last, expected, tolerance),
        "runs": (len(runs), set(audited)) == (5, {"host_to_host"}),
        "audited": audit["status"] == "ok",
        "nothing is compiled": n_compiled == 0,
        "copied": len(jax.tree.leaves(opened.case._x)) == n_copied,
        "copied once": all(any(x is y for y in placed) for x in fixed.values()),
        "fixed": len(fixed) == (2 if name == "fixed" else 0),
        "phases": set(phases) == whole | ({"h2d", "d2h"} if device.kind == "cuda" else set()),
        "restored": close(opened.output(0), expected, tolerance),
    }
    if mode == "overlap":
        checks["chunks"] = [[len(x) for x in c] for c in opened.case._chunks] == [[4, 4], [2, 2]]
    return [check for check, holds in checks.items() if not holds]


def main() -> int:
    found: dict[str, Any] = {}
    chunks._UNIT_ROWS, forward._CHUNK_BYTES = 4, 200  # 192 bytes of v, and 72 of x
    with tempfile.TemporaryDirectory() as path:
        for name in RIGHT:
            modes = [("jit", CpuDevice()), ("aot", AsOnAGpu())]
            for mode, device in [*modes, ("overlap", AsOnAGpu())] if name == "parts" else modes:
                found[f"{name} {mode} {device.kind}"] = broken(name, mode, device, Path(path))
        for name, (function, said) in WRONG.items():
            folder = Path(path, name)
            described = operators.write(folder, {"reference": HEAD + function}, PAIR)
            reason = Opened(Session("cpu"), described, "jit").answer.get("reason", "ok")
            found[name] = [] if said in reason else [reason]
        described = operators.write(Path(path, "fused"), {"reference": HEAD + FUSED}, PAIR)
        session = Session("cpu")  # in which cases share their inputs
        for mode in ("jit", "aot"):
            opened = Opened(session, described, mode)
            expected = opened.case._inputs.arrays[0] + (mode == "aot")
            right = close(opened.output(), [expected], 1e-6)
            found[f"fused in {mode}"] = [] if right else ["told something else"]
        for i, (keys, precision) in enumerate(PRECISIONS):
            files = {"reference": HEAD + PRECISE.format(precision)}
            described = operators.write(Path(path, f"precision{i}"), files, PAIR, **keys)
            answer = Opened(Session("cpu"), described, "jit").answer
            found[f"precision {i}"] = [] if answer["status"] == "ok" else [str(answer)]
        # That steps are rounded as written shows on a GPU only; that the compiler is told, here.
        told: list[Any] = []
        jit, folder = jax.jit, Path(path, "told")
        jax.jit = lambda *given, **keys: (
            told.append(keys.get("compiler_options")),
            jit(*given, **keys),
        )[1]
        folder.mkdir()
        for mode, device in modes:
            broken("training", mode, device, folder)
        jax.jit = jit
        found["told"] = [] if told == 3 * [{"xla_allow_excess_precision": False}] else [str(told)]
        for device, said in ((CpuDevice(), "on the CPU"), (AsOnAGpu(), "copied in parts")):
            session = Session("cpu")
            session._device = device
            described = operators.write(Path(path, "whole"), {"reference": HEAD + SOFTMAX}, PAIR)
            answer = Opened(session, described, "overlap").answer
            holds = answer["status"] == "skipped" and said in answer["reason"]
            found[f"whole {device.kind}"] = [] if holds else [answer["reason"]]
    found["in this thread"] = (
        ["dispatch"] if jax.config.values["jax_cpu_enable_async_dispatch"] else []
    )
    assert compiled, "the listener hears of compilations"
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
