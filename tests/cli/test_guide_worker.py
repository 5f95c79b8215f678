"""The worker docs/numpy_worker.py, asked as the supervisor does."""

import ast
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import made_inputs
import pytest
from project import ROOT, ran

import protocol

np = pytest.importorskip("numpy")

SPEC = {
    "id": "c",
    "workload": "mlp_infer",
    "engine": "numpy",
    "device": "cpu",
    "variant": "matmul",
    "dtype": "f32",
    "params": {"batch": 33, "layers": [4, 5, 2]},
}
UNIFORM = {"kind": "uniform", "low": -1, "high": 1}
SHAPES = {"x": [33, 4], "w_0": [5, 4], "w_1": [2, 5], "b_0": [5], "b_1": [2]}
ARRAYS: list[dict[str, Any]] = [
    {"name": name, "shape": shape, "dtype": "f32", "input": True, "fill": UNIFORM}
    for name, shape in SHAPES.items()
]
OPEN = {"op": "open", "case": SPEC, "seed": 42, "operator": {"arrays": ARRAYS}}
SAMPLE = {"op": "sample", "id": "c", "budget_ns": 10**11, "warmup_samples": 2, "warmup_ns": 0}
SEED = 12345678901234567


class Guide:
    """Gives the worker requests, all at once, and reads what it answers."""

    def __init__(self, folder: Path) -> None:
        self.source = (ROOT / "docs" / "numpy_worker.py").read_text(encoding="utf-8")
        (folder / "reference_numpy").mkdir()
        for seed in (0, 1, SEED):
            made_inputs.make(folder / "inputs", ARRAYS, 42, seed)
        self._worker = folder / "reference_numpy" / "worker.py"
        self._worker.write_text(self.source, encoding="utf-8")
        self._folder = folder

    def output(self, name: str, op: str = "output") -> dict[str, Any]:
        """Return a request for arrays, which `y` reads."""
        (self._folder / name).mkdir(exist_ok=True)
        return {"op": op, "id": "c", "path": str(self._folder / name)}

    def y(self, name: str) -> Any:
        return np.load(self._folder / name / "y.npy")

    def ask(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        inputs = {"inputs": str(self._folder / "inputs")}
        told = [{**request, **inputs} if request == OPEN else request for request in requests]
        lines = [json.dumps(request) for request in ({"op": "hello", "protocol": 2}, *told)]
        done = ran(sys.executable, self._worker, "--device", "cpu", input="\n".join(lines) + "\n")
        first, *answers = map(json.loads, done.stdout.splitlines())
        assert (first["status"], first["protocol"]) == ("ok", 2)
        return answers


@pytest.fixture
def guide(tmp_path: Path) -> Guide:
    return Guide(tmp_path)


def refill(seed: int) -> dict[str, Any]:
    return {"op": "refill", "id": "c", "seed": seed}


def test_new_inputs_and_what_the_last_sample_left(guide: Guide) -> None:
    answers = guide.ask(
        OPEN,
        guide.output("opened"),
        {**SAMPLE, "max_samples": 1, "fresh": SEED},
        guide.output("last", "last"),
        guide.output("fresh"),
        refill(1),
        guide.output("other"),
        guide.output("kept", "last"),
        refill(0),
        guide.output("restored"),
        {"op": "bye"},
    )
    assert {answer["status"] for answer in answers} == {"ok"}
    assert {len(samples) for samples in answers[2]["phases"].values()} == {2}
    assert np.array_equal(guide.y("last"), guide.y("fresh"))
    assert np.array_equal(guide.y("kept"), guide.y("fresh"))
    assert np.array_equal(guide.y("restored"), guide.y("opened"))
    for name in ("opened", "other"):
        assert not np.allclose(guide.y("fresh"), guide.y(name))


def test_the_number_of_samples_is_not_known(guide: Guide) -> None:
    few = {**SAMPLE, "max_samples": 7}
    _, plain, *fresh = guide.ask(OPEN, few, *[{**few, "fresh": SEED}] * 60)
    assert len(plain["phases"]["forward"]) == 7
    assert {len(answer["phases"]["forward"]) for answer in fresh} == {5, 6, 7, 8}


def test_audit_and_what_is_refused(guide: Guide) -> None:
    _, audited, *refused = guide.ask(
        OPEN,
        {"op": "audit", "id": "c", "runs": 3},
        guide.output("last", "last"),
        {"op": "hello", "protocol": 1},
        {"op": "dance"},
        {**SAMPLE, "max_samples": 1, "maximum": 3},
        {"op": "close", "id": "other"},
    )
    assert audited == {"status": "ok", "id": "c", "phase": "host_to_host"}
    assert {answer["status"] for answer in refused} == {"failed"}
    assert [answer["reason"].removeprefix("ValueError: ") for answer in refused] == [
        'last before sample with "fresh"',
        "this worker speaks protocol 2, found 1",
        "unknown op 'dance'",
        "sample has no key 'maximum'",
        "no open case 'other'",
    ]


def test_the_fresh_sample_is_part_of_the_budget(guide: Guide) -> None:
    none = {**SAMPLE, "budget_ns": 0, "max_samples": 9}
    _, plain, fresh = guide.ask(OPEN, none, {**none, "fresh": SEED})
    assert len(plain["phases"]["forward"]) == len(fresh["phases"]["forward"]) == 1


def test_the_keys_of_a_request_are_those_of_the_protocol(guide: Guide) -> None:
    (table,) = re.findall(r"^KEYS = (\{.*?\})$", guide.source, re.MULTILINE | re.DOTALL)
    known = {op: set(keys.split()) for op, keys in ast.literal_eval(table).items()}
    requests = set(get_args(protocol.Request)) - {
        protocol.TraceStartRequest,
        protocol.TraceRequest,
        protocol.EvaluateRequest,
        protocol.VerifyRequest,  # only the oracle of a described workload gets these
        protocol.InputsRequest,
    }
    expected = {
        request.__name__.removesuffix("Request").lower(): {key.name for key in fields(request)}
        for request in requests
    }
    # Keys that only hello's open_keys ask for.
    expected["open"] -= {"results", "refill", "compile_cache"}
    for op in ("sample", "audit", "output", "refill"):
        expected[op] -= set(protocol.REQUEST_KEYS)  # only if hello's request_keys has them
    assert known == expected
