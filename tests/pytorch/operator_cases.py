"""Operators that tests write into a folder, and cases of them in a session of this process."""

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
import made_inputs  # noqa: E402

import protocol  # noqa: E402

MLP = Path(__file__).resolve().parents[2] / "kernels" / "mlp_infer"
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
    folder: Path,
    files: dict[str, str],
    arrays: list[Any],
    scalars: Any = (),
    steps: int = 0,
    by_step: bool = False,
    **keys: Any,
) -> dict[str, Any]:
    """Write an operator's Python files and return the key `operator` of `open`; steps: a training."""
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
        "types": {"T": arrays[0]["dtype"]},
        "scalars": list(scalars),
        **({"steps": steps, "by_step": by_step} if steps > 0 else {}),
        **({"splits": "rows"} if any(array.get("cut") for array in arrays) else {}),
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
LAYERS = """
    import torch
    def inputs(params, dtype):
        return [[torch.randn(4, 8), torch.randn(3, 4)]]
    def reference(x, w, b, slope):
        for weights, bias in zip(w, b, strict=True):
            x = slope * (x @ weights.T + bias)
        return x
    def verify(inputs, outputs):
        x, w, b = inputs
        return None if torch.allclose(reference(x, w, b, 0.5), outputs[0]) else "y is wrong"
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
MODELLED = """
    import torch
    from torch import nn
    def reference(x, w, eps, *, fused):
        return (x[:, None] * w).sum(-1) if fused else x @ w.T
    def model(w, *, cols):
        layer = nn.Linear(cols, len(w), bias=False)
        with torch.no_grad():
            layer.weight.copy_(w)
        return layer
    """
RIGHT["modelled"] = (
    {"reference": MODELLED},
    [given("x", 6, 8), {**given("w", 3, 8), "stays": True}, output("y", 6, 3)],
    [scalar("eps", 0)],
)
TRAINING = """
    import torch
    def step(p, x, rate, step):
        def loss_of(p):
            return ((p - x) ** 2).mean()
        slope, loss = torch.func.grad_and_value(loss_of)(p)
        return p - rate * (step + 1) * slope, loss, p[0]
    """
RIGHT["training"] = (
    {"reference": TRAINING},
    [
        in_place("p", 6, 8),
        given("x", 6, 8),
        {**output("loss", 5), "every": 1},
        {**output("rows", 3, 8), "every": 2},
    ],
    [scalar("rate", 0.1)],
    5,
)
# A model that is built in each sample, of which a step is compared.
BUILT = """
    import torch
    def step(p, x, rate, step):
        return p - rate * (step + 1) * (p - x) / 24, ((p - x) ** 2).mean()
    def manual_training(p, x, rate, *, compiled):
        losses = []
        for number in range(5):
            losses.append(((p - x) ** 2).mean())
            compiled(_move)(p, x, rate * (number + 1) / 24)
        return p, torch.stack(losses)
    def _move(p, x, rate):
        p.sub_(p - x, alpha=rate)
    def model(p, *, rows):
        module = torch.nn.ParameterList([p])
        module.optimizer = torch.optim.SGD(module.parameters(), lr=p.shape[0] / rows)
        return module
    def train(model, x, rate, step):
        model.optimizer.zero_grad()
        loss = ((model[0] - x) ** 2).mean()
        (loss * rate * (step + 1)).backward()
        model.optimizer.step()
        return loss
    """
RIGHT["built"] = (
    {"reference": BUILT},
    [in_place("p", 6, 8), given("x", 6, 8), {**output("loss", 5), "every": 1}],
    [scalar("rate", 0.1)],
    5,
    True,
)
RIGHT["layers"] = (
    {"reference": LAYERS},
    [
        given("x", 6, 8),
        *(
            {**given(f"w_{i}", *shape, fill={"kind": "function"}), "list": "w", "stays": True}
            for i, shape in enumerate([(4, 8), (3, 4)])
        ),
        *({**given(f"b_{i}", n), "list": "b"} for i, n in enumerate([4, 3])),
        output("y", 6, 3),
    ],
    [scalar("slope", 0.5)],
)
# Lists in place, which a function returns as lists, one of them of one array.
RIGHT["lists"] = (
    {"reference": "def reference(w, b, x, rate): return [v - rate * x for v in w], b, x.sum(1)"},
    [
        *({**in_place(f"w_{i}", 6, 8), "list": "w"} for i in range(2)),
        {**in_place("b_0", 3), "list": "b"},
        given("x", 6, 8),
        output("y", 6),
    ],
    [scalar("rate", 0.5)],
)
RIGHT["parts"] = (
    {"reference": "def reference(v, w, u, x, *, rows): return x + v.reshape(rows, 8) @ w.T + u"},
    [
        {**given("v", 6, 2, 4), "cut": True},
        {**given("w", 3, 8), "stays": True},
        given("u", 3),
        {**in_place("x", 6, 3), "cut": True},
    ],
)


def mlp(
    folder: Path, batch: int = 64, layers: Sequence[int] = (4, 5, 1), dtype: str = "f32"
) -> dict[str, Any]:
    """Return the operator of kernels/mlp_infer, whose reference is written to a folder."""

    def uniform(name: str, *shape: int, high: float) -> dict[str, Any]:
        return given(
            name, *shape, dtype=dtype, fill={"kind": "uniform", "low": -high, "high": high}
        )

    arrays = [{**uniform("x", batch, layers[0], high=1), "cut": True}]
    for name in ("w", "b"):
        for i, (n_in, n_out) in enumerate(zip(layers, layers[1:], strict=False)):
            shape = (n_out, n_in) if name == "w" else (n_out,)
            array = uniform(f"{name}_{i}", *shape, high=n_in**-0.5)
            arrays.append({**array, "list": name, "stays": True})
    arrays.append({**output("y", batch, layers[-1], dtype=dtype), "cut": True})
    files = {"reference": (MLP / "reference.py").read_text(encoding="utf-8")}
    return write(folder, files, arrays, splits="batch", name="mlp_infer")


def mnist_training(
    folder: Path, name: str, in_place: list[dict[str, Any]], params: dict[str, int], scalars: Any
) -> dict[str, Any]:
    """Return the operator of kernels/mlp_train or mnist_train; `params`: images, batch and steps."""
    images, batch, steps = params["images"], params["batch"], params["steps"]
    data, drawn = {"kind": "data"}, {"kind": "function"}
    arrays = [
        *({**array, "output": True} for array in in_place),
        {**given("x", images, 784, fill=data), "stays": True},
        {**given("labels", images, dtype="u8", fill=data), "stays": True},
        given("order", steps, batch, dtype="i32", fill=drawn),
        {**output("loss", steps), "every": 1},
    ]
    source = (MLP.with_name(name) / "reference.py").read_text(encoding="utf-8")
    return write(folder, {"reference": source}, arrays, scalars, steps, name=name)


def mlp_arrays(operator: dict[str, Any], inputs: Path) -> tuple[Any, list[Any], list[Any]]:
    """Read x and each layer's w and b from the files of a refill."""
    arrays = [array for array in operator["arrays"] if array["input"]]
    dtype = {"f32": np.float32, "f16": np.float16}[operator["types"]["T"]]
    x, *rest = (np.fromfile(inputs / a["name"], dtype).reshape(a["shape"]) for a in arrays)
    return x, rest[: len(rest) // 2], rest[len(rest) // 2 :]


def mlp_output(operator: dict[str, Any], inputs: Path) -> np.ndarray:
    """Compute y of such inputs in float64."""
    x, w, b = mlp_arrays(operator, inputs)
    y = x.astype(np.float64)
    for i, (weights, bias) in enumerate(zip(w, b, strict=True)):
        y = (y if i == 0 else np.maximum(y, 0)) @ weights.T.astype(np.float64) + bias
    return y


CASES = [
    *(("cpu", mode) for mode in ("eager", "inference")),
    *(("cuda", mode) for mode in ("eager", "inference", "graph", "compile_graph")),
]
SEED = 987654321  # of a refill
PARAMS = {"rows": 6, "cols": 8}
EPS = {"f32": 1e-6, "f16": 2e-3, "bf16": 2e-2, "i64": 0}


def parsed(**message: Any) -> Any:
    return protocol.parse(protocol.json.dumps(message).encode())


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
        self.id, self.operator, self._seed = spec["id"], operator, seed
        self._keys = {"case": spec, "seed": seed, "operator": operator}
        inputs = str(self.inputs(0))
        self.answer = session.handle(parsed(op="open", inputs=inputs, **self._keys))

    def inputs(self, refill: int) -> Path:
        """Make the files of a refill seed."""
        arrays = self.operator["arrays"]
        folder = made_inputs.make(Path(f"{self.folder}.inputs"), arrays, self._seed, refill)
        if any(x.get("fill", {}).get("kind") in ("function", "data") for x in arrays):
            from operator_tensors import write_made

            request = parsed(
                op="inputs", refill=refill, path=str(folder / str(refill)), **self._keys
            )
            seeds = (request.seed, refill)
            write_made(request.operator, request.case, seeds, request.path)
        return folder

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
        self.inputs(seed)
        self.ok(protocol.RefillRequest(self.id, seed))
        return self.arrays(protocol.OutputRequest)

    def sample(self, fresh: int) -> dict[str, Any]:
        self.inputs(fresh)
        request = protocol.SampleRequest(self.id, 10**11, 2, 1, 0, fresh=fresh)
        return self.ok(request)["phases"]

    def last(self) -> dict[str, np.ndarray]:
        return self.arrays(protocol.LastRequest)


def open_ok(session: Any, operator: dict[str, Any], variant: str) -> Opened:
    opened = Opened(session, operator, variant)
    assert opened.answer["status"] == "ok", opened.answer
    return opened


def near(found: dict[str, Any], expected: dict[str, Any], operator: dict[str, Any]) -> bool:
    """Return whether outputs are these, up to the rounding of their types."""
    arrays = {array["name"]: array for array in operator["arrays"]}
    assert set(found) == set(expected)
    for name, y in found.items():
        assert y.shape == expected[name].shape == tuple(arrays[name]["shape"])
        tolerance = EPS[arrays[name]["dtype"]]
        if not np.allclose(y, expected[name], rtol=tolerance, atol=tolerance):
            return False
    return True
