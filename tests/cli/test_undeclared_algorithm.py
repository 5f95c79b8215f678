"""A training may not be faster than its passes over the data, unless it declares another algorithm.

A worker that trains in plain Python, and does not tell its times.
"""

import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root, own_worker, read_cases, write_sweep

WORKER = (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")
PARTS = {
    """        self.batch, self.sizes = spec["params"]["batch"], spec["params"]["layers"]
""": """        self.epochs, self.rate = spec["params"]["epochs"], spec["params"]["rate"]
""",
    """        self.x = read("x")
        pairs = enumerate(self.sizes[:-1])
        self.layers = [(n_in, read(f"w_{i}"), read(f"b_{i}")) for i, n_in in pairs]
""": """        self.line, self.x, self.y = map(read, ("line", "x", "y"))
""",
    """        y: list[float] = []
""": """        (w, b), n = self.line, len(self.x)
        for epoch in range(self.epochs):
            off = [w * x + b - y for x, y in zip(self.x, self.y)]
            loss = loss if epoch else sum(e * e for e in off) / n
            w -= 2 * self.rate * sum(e * x for e, x in zip(off, self.x)) / n
            b -= 2 * self.rate * sum(off) / n
        return [w, b, loss]
""",
    """        header = str(
            {"descr": "<f4", "fortran_order": False, "shape": (self.batch, self.sizes[-1])}
        )
""": """        self.save(folder, "line", y[:2])
        self.save(folder, "loss", y[2:])

    def save(self, folder, name, y):
        header = str({"descr": "<f4", "fortran_order": False, "shape": (len(y),)})
""",
    '"y.npy"': 'f"{name}.npy"',
    '["y"]': '["line", "loss"]',
    "return now_ns() - start": "return 10",
    '"mlp_infer"': '"linreg_train"',
    '("plain", "wrong", "breaks")': '("declared", "undeclared")',
    """    del cases[request["id"]]
    return {"id": request["id"], "results": {}}
""": """    declared = cases.pop(request["id"]).variant == "declared"
    return {"id": request["id"], "results": {"algorithmic": declared}}
""",
}
for old, new in PARTS.items():
    assert old in WORKER, old
    WORKER = WORKER.replace(old, new)


@pytest.mark.parametrize("variant", ["declared", "undeclared"])
def test_a_training_without_its_passes_must_say_so(variant: str, tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": [variant], "device": ["cpu"]}
    measure = {"passes": 1, "time_limit_s": 0.05}
    sweep = write_sweep(
        tmp_path / "s.json",
        "linreg_train",
        [mine],
        axes={"points": [1000], "epochs": [3]},
        measure=measure,
    )
    expect = 0 if variant == "declared" else 1
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, root=root, expect=expect, BENCH_PYTHON=sys.executable)
    (case,) = read_cases(run).values()
    if variant == "declared":
        assert (case["status"], case["flags"]) == ("ok", [])
    else:
        assert case["status"] == "implausible"
        assert case["reason"].startswith("faster than the arithmetic limit (")
