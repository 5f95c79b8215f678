"""Operators that tests write into a folder, and cases of them in a session of this process."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

import protocol

CHANGES = "changes its input x; only an array that is input and output may change"
NORMAL = {"kind": "normal", "low": 0, "high": 1}


def given(name: str, *shape: int, dtype: str = "f32", fill: Any = NORMAL) -> dict[str, Any]:
    """Return an input."""
    keys = {"name": name, "shape": list(shape), "dtype": dtype}
    return {**keys, "input": True, "output": False, "fill": fill}


def output(name: str, *shape: int, dtype: str = "f32") -> dict[str, Any]:
    keys = {"name": name, "shape": list(shape), "dtype": dtype}
    return {**keys, "input": False, "output": True}


def in_place(name: str, *shape: int, dtype: str = "f32") -> dict[str, Any]:
    return {**given(name, *shape, dtype=dtype), "output": True}


def scalar(name: str, value: float, dtype: str = "f32") -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "value": value}


_written = 0


def write(
    folder: Path, files: dict[str, str], arrays: list[Any], scalars: Any = (), **keys: Any
) -> dict[str, Any]:
    """Write an operator's Python files and return the key `operator` of `open`."""
    global _written
    _written += 1
    folder.mkdir(exist_ok=True)
    for stem, source in files.items():
        (folder / f"{stem}.py").write_text(dedent(source), encoding="utf-8")
    return {
        "folder": str(folder),
        "hash": f"{_written:032x}",
        "name": folder.name,
        "arrays": arrays,
        "scalars": list(scalars),
        **keys,
    }


# ---- operators that are right ----------------------------------------------------------------------

SOFTMAX = {
    "reference": """
        import torch
        def reference(x):
            return torch.softmax(x, dim=-1)
        def scale(x):
            return 0.5
        """,
    "two_steps": """
        import torch
        def run(x):
            e = torch.exp(x - x.amax(-1, keepdim=True))
            return e / e.sum(-1, keepdim=True)
        """,
}
LAYER_NORM = """
    def reference(x, eps):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) / (variance + eps).sqrt(), mean[:, 0]
    """
GELU = """
    from torch.nn import functional
    def reference(x):
        return functional.gelu(x)
    """
ARGMAX = """
    def reference(x):
        return x.argmax(-1)
    def verify(inputs, outputs):
        (x,), (y,) = inputs, outputs
        if (x.gather(-1, y[:, None])[:, 0] == x.amax(-1)).all():
            return None
        return "y is not where x is largest"
    """
LINEAR = """
    import torch
    from torch import nn
    def setup(params, device, dtype):
        return nn.Linear(params["cols"], 3).to(device, dtype)
    def reference(x, *, state):
        return state(x)
    """
TRANSPOSE = """
    def reference(x):
        return x.t()
    """
ADD_IN_PLACE = """
    def reference(x, y):
        return x.add_(y)
    """

RIGHT: dict[str, tuple[Any, ...]] = {
    "softmax": (SOFTMAX, [given("x", 6, 8), output("y", 6, 8)]),
    "softmax_f16": (
        SOFTMAX,
        [given("x", 6, 8, dtype="f16"), output("y", 6, 8, dtype="f16")],
    ),
    "softmax_bf16": (
        SOFTMAX,
        [given("x", 6, 8, dtype="bf16"), output("y", 6, 8, dtype="bf16")],
    ),
    "layer_norm": (
        {"reference": LAYER_NORM},
        [given("x", 6, 8), output("y", 6, 8), output("mean", 6)],
        [scalar("eps", 0.1)],
    ),
    "gelu": ({"reference": GELU}, [in_place("x", 6, 8)]),
    "argmax": ({"reference": ARGMAX}, [given("x", 6, 8), output("y", 6, dtype="i64")]),
    "linear": ({"reference": LINEAR}, [given("x", 6, 8), output("y", 6, 3)]),
    "transpose": ({"reference": TRANSPOSE}, [given("x", 6, 8), output("y", 8, 6)]),
    "add": ({"reference": ADD_IN_PLACE}, [in_place("x", 6, 8), given("y", 6, 8)]),
}
RIGHT["identity"] = (
    {"reference": "def reference(x): return x"},
    [given("x", 6, 8), output("y", 6, 8)],
)
RIGHT["weights"] = (
    {"reference": "def reference(x, w): return x @ w.T, w"},
    [given("x", 6, 8), {**given("w", 3, 8), "stays": True}, output("y", 6, 3), output("z", 3, 8)],
)
PARAMS = {"rows": 6, "cols": 8}
EPS = {"f32": 1e-6, "f16": 2e-3, "bf16": 2e-2, "i64": 0}


class Opened:
    """A case in a session, asked as the supervisor does."""

    def __init__(
        self, session: Any, operator: dict[str, Any], variant: str, *, seed: int = 42, **keys: Any
    ) -> None:
        self.session, self.folder = session, Path(operator["folder"])
        spec = {
            "id": f"{operator['name']} {variant}",
            "workload": operator["name"],
            "engine": session.engine,
            "device": session._device.kind,
            "variant": variant,
            "dtype": operator["arrays"][0]["dtype"],
            "params": PARAMS,
            **keys,
        }
        self.id = spec["id"]
        line = protocol.json.dumps({"op": "open", "case": spec, "seed": seed, "operator": operator})
        self.answer = session.handle(protocol.parse(line.encode()))

    @property
    def case(self) -> Any:
        return self.session._cases[self.id].case

    def ok(self, request: Any) -> dict[str, Any]:
        answer = self.session.handle(request)
        assert answer["status"] == "ok", answer
        return answer

    def arrays(self, request: Any) -> dict[str, np.ndarray]:
        names = self.ok(request(self.id, str(self.folder)))["arrays"]
        return {name: np.load(self.folder / f"{name}.npy") for name in names}

    def output(self, seed: int = 0) -> dict[str, np.ndarray]:
        self.ok(protocol.RefillRequest(self.id, seed))
        return self.arrays(protocol.OutputRequest)

    def sample(self, fresh: int) -> dict[str, Any]:
        request = protocol.SampleRequest(self.id, 10**11, 2, 1, 0, fresh=fresh)
        return self.ok(request)["phases"]

    def last(self) -> dict[str, np.ndarray]:
        return self.arrays(protocol.LastRequest)
