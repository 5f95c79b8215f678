"""mlp_infer with NumPy, one matrix product a layer: a contender to copy (docs/your-kernel.md)."""

import json
import math
import os
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference_common"))
try:
    import numpy as np

    import philox  # the same inputs and weights as every other contender
    from refill import flip_signs, random_tile, sign_mask

    missing = None
except ImportError as error:  # reported in the answer to hello: a worker that dies has failed
    missing = f"{error}: {sys.executable} -m pip install numpy"

PHASES = ("forward", "host_to_host")
KEYS = {
    "hello": "protocol",
    "open": "case seed program profile compile_cache",
    "refill": "id seed",
    "sample": "id round budget_ns max_samples warmup_samples warmup_ns fresh",
    "output": "id path",
    "last": "id path",
    "audit": "id runs",
    "close": "id",
    "bye": "",
}
cases = {}


def uniform(shape, seed, stream, bound):
    values = np.empty(shape, np.float32)
    philox.fill_uniform(values, seed, stream, -bound, bound)
    return values


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Case:
    def __init__(self, spec, seed):
        if (spec["workload"], spec["variant"], spec["dtype"]) != ("mlp_infer", "matmul", "f32"):
            raise NotImplementedError("only mlp_infer, matmul, f32")
        sizes, self.weights = spec["params"]["layers"], []
        for i, (n_in, n_out) in enumerate(zip(sizes, sizes[1:], strict=False)):
            bound = float(np.float32(1 / math.sqrt(n_in)))
            self.weights.append(
                (
                    uniform((n_out, n_in), seed, 16 + 2 * i, bound),
                    uniform(n_out, seed, 17 + 2 * i, bound),
                )
            )
        self.x = uniform((spec["params"]["batch"], sizes[0]), seed, 1, 1.0)
        self.seed, self.last = 0, None  # of the refill; the output of the fresh sample

    def run(self):
        y = self.x
        for i, (w, b) in enumerate(self.weights):
            y = (y if i == 0 else np.maximum(y, 0)) @ w.T + b
        self.y = y

    def time_once(self):
        start_ns = now_ns()
        self.run()
        return now_ns() - start_ns

    def refill(self, seed):
        flip_signs(self.x, sign_mask(self.seed) ^ sign_mask(seed))
        self.seed = seed

    def leave_random(self):  # NumPy allocates each output, maybe in the memory of the one before
        self.y[:] = np.resize(random_tile(), self.y.shape)
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
        }
    if op == "bye":
        return {}
    if op == "open":
        case = cases[request["case"]["id"]] = Case(request["case"], request["seed"])
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
