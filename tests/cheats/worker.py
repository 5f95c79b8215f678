"""The worker of the cheats: a variant is a file in `scripts/`, or `honest`."""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

# A link in the project's folder leads here.
HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    str(HERE),
    str(HERE / "scripts"),
    str(HERE / "others"),
    str(HERE.parents[1] / "reference_common"),
]

import numpy as np  # noqa: E402
from honest import Contender  # noqa: E402

HELLO = {
    "protocol": 2,
    "engine": "cheat",
    "device": {"kind": "cpu", "name": "NumPy"},
    "open_keys": ["inputs"],
}

cases: dict[str, Contender] = {}


def carry_out(op: str, request: dict[str, Any]) -> dict[str, Any]:
    if op in ("hello", "bye"):
        return HELLO
    if op == "open":
        spec = request["case"]
        module = importlib.import_module(spec["variant"])
        opened = cases[spec["id"]] = module.Contender(spec, request.get("inputs", request["seed"]))
        return {"phases": dict.fromkeys(opened.phases, "host")}
    case = cases[request["id"]]
    if op in ("output", "last"):
        written = getattr(case, op)()
        arrays = written if isinstance(written, dict) else {"y": written}
        for name, array in arrays.items():
            np.save(Path(request["path"], f"{name}.npy"), array)
        return {"arrays": list(arrays)}
    if op == "sample":
        return {"phases": case.sample(request)}
    if op == "refill":
        case.refill(request["seed"])
    elif op == "audit":
        case.audit(request["runs"])
        return {"phase": case.compared}
    elif op == "close":
        closed = cases.pop(request["id"])
        return {"results": {"notes": closed.notes}} if closed.notes else {}
    else:
        raise ValueError(f"unknown op {op!r}")
    return {}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        op = request.pop("op")
        try:
            answer = {"status": "ok", **carry_out(op, request)}
        except Exception as error:
            answer = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
        case_id = request.get("id") or request.get("case", {}).get("id")
        print(json.dumps(answer | ({"id": case_id} if case_id else {})), file=answers, flush=True)
        if op == "bye":
            break


if __name__ == "__main__":
    main()
