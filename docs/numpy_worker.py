"""mlp_infer with NumPy, one matrix product a layer: a contender to copy (docs/your-kernel.md)."""

import json
import os
import sys
import time
import traceback
from pathlib import Path

try:
    import numpy as np

    missing = None
except ImportError as error:  # reported in the answer to hello: a worker that dies has failed
    missing = f"{error}: {sys.executable} -m pip install numpy"

PHASES = ("forward", "host_to_host")
KEYS = {
    "hello": "protocol",
    "open": "case seed program profile operator inputs",
    "refill": "id seed",
    "sample": "id round budget_ns max_samples warmup_samples warmup_ns fresh",
    "output": "id path",
    "last": "id path",
    "audit": "id runs",
    "close": "id",
    "bye": "",
}
cases = {}


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Case:
    def __init__(self, spec, operator, folder):
        if (spec["workload"], spec["variant"], spec["dtype"]) != ("mlp_infer", "matmul", "f32"):
            raise NotImplementedError("only mlp_infer, matmul, f32")
        self.folder, self.n_layers = folder, len(spec["params"]["layers"]) - 1
        self.shapes = {a["name"]: a["shape"] for a in operator["arrays"] if a["input"]}
        self.inputs, self.last = {}, None  # last: the output of the fresh sample
        self.refill(0)

    def run(self):
        y = self.inputs["x"]
        for i in range(self.n_layers):
            w, b = self.inputs[f"w_{i}"], self.inputs[f"b_{i}"]
            y = (y if i == 0 else np.maximum(y, 0)) @ w.T + b
        self.y = y

    def time_once(self):
        start_ns = now_ns()
        self.run()
        return now_ns() - start_ns

    def refill(self, seed):  # the inputs of this seed: 0 as opened
        for name, shape in self.shapes.items():
            self.inputs[name] = np.fromfile(Path(self.folder, str(seed), name), "<f4").reshape(shape)

    def leave_random(self):  # NumPy allocates each output, maybe in the memory of the one before
        self.y[:] = np.random.default_rng().uniform(-1, 1, self.y.shape)
        del self.y

    def sample(self, request):
        start_ns, warmed, last_ns, ns = now_ns(), 0, 0, []
        while warmed < request["warmup_samples"] or now_ns() - start_ns < request["warmup_ns"]:
            last_ns = self.time_once()
            warmed += 1
        warmup, fresh = {"samples": warmed, "ns": now_ns() - start_ns}, request.get("fresh")
        end_ns, most = now_ns() + request["budget_ns"], request["max_samples"]
        if fresh is not None:  # part of the budget, and nothing can count to it
            end_ns, most = end_ns - 2 * last_ns, max(1, most - os.urandom(1)[0] % 4)
        while (len(ns) < most and now_ns() < end_ns) or (fresh is None and not ns):
            ns.append(self.time_once())
        if fresh is not None:
            self.refill(fresh)
            self.leave_random()
            ns.append(self.time_once())
        self.last = None if fresh is None else self.y.copy()
        return {"phases": dict.fromkeys(PHASES, ns), "warmup": warmup}


def save(y, folder):
    np.save(Path(folder, "y.npy"), y)
    return {"arrays": ["y"]}


def carry_out(op, request):
    if op not in KEYS:
        raise ValueError(f"unknown op {op!r}")
    for key in request.keys() - KEYS[op].split():
        raise ValueError(f"{op} has no key {key!r}")
    if op == "hello" and (missing or "cuda" in sys.argv):
        raise NotImplementedError(missing or "NumPy runs on the CPU only")
    if op == "hello" and request["protocol"] != 2:
        raise ValueError(f"this worker speaks protocol 2, found {request['protocol']}")
    if op == "hello":
        return {
            "protocol": 2,
            "engine": "numpy",
            "device": {"kind": "cpu", "name": "CPU"},
            "versions": {"numpy": np.__version__},
            "capabilities": {"mlp_infer": ["matmul"]},
            "open_keys": ["inputs"],
        }
    if op == "bye":
        return {}
    if op == "open":
        case = Case(request["case"], request["operator"], request["inputs"])
        cases[request["case"]["id"]] = case
        return {"phases": dict.fromkeys(PHASES, "host"), "once_ns": {"first_run": case.time_once()}}
    case = cases.get(request["id"])
    if case is None:
        raise ValueError(f"no open case {request['id']!r}")
    if op == "output":
        case.leave_random()
        case.run()
        return save(case.y, request["path"])
    if op == "sample":
        return case.sample(request)
    if op == "last" and case.last is None:
        raise ValueError('last before sample with "fresh"')
    if op == "last":
        return save(case.last, request["path"])
    if op == "audit":
        for _ in range(request["runs"]):
            case.run()
        return {"phase": "host_to_host"}
    if op == "refill":
        case.refill(request["seed"])
    elif op == "close":
        del cases[request["id"]]
    return {}


answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # stdout is for answers only: what a library prints goes to stderr
for line in sys.stdin:
    request, op = {}, None
    try:
        request = json.loads(line)
        op = request.pop("op")
        answer = {"status": "ok", **carry_out(op, request)}
    except NotImplementedError as error:  # what does not apply to a case is no failure
        answer = {"status": "skipped" if op == "open" else "failed", "reason": str(error)}
    except Exception as error:  # whatever happens, there is an answer; the rest goes to stderr
        traceback.print_exc()
        answer = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    case_id = request.get("id") or request.get("case", {}).get("id")
    print(json.dumps(answer | ({"id": case_id} if case_id else {})), file=answers, flush=True)
    if op == "bye":
        break
