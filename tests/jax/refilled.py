"""Ask a session for refill, fresh samples, last and audit; print what is not as it must be.

With --all in every mode on both devices, otherwise in the last one of each workload on one.
"""

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
from few_images import few_images

import mnist_data
import protocol
from device import CpuDevice
from refill import flip_signs, sign_mask
from session import WORKLOADS, Session
from timing import no_mark

PARAMS = {
    "mlp_train": {"width": 16, "depth": 3, "batch": 700, "epochs": 1, "rate": 0.1, "seed": 1},
}
SEED = 12345678901234567

compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _seconds, **_: compiled.append(event) if "/compile/" in event else None
)


class AsOnAGpu(CpuDevice):
    """The CPU, with the copies of a GPU: XLA's CPU has pinned memory, too."""

    kind = "cuda"


class Opened:
    """A case in a session, asked as the supervisor does."""

    def __init__(
        self, device: CpuDevice, workload: str, variant: str, params: dict[str, Any], folder: str
    ) -> None:
        self.session = Session("cpu")
        self.session._device = device
        self.folder = folder
        self.spec = protocol.CaseSpec("c", workload, "jax", device.kind, variant, "f32", params)
        self.ok(protocol.OpenRequest(self.spec, 42))
        self.case = self.session._cases["c"].case

    def ok(self, request: Any) -> Any:
        answer = self.session.handle(request)
        assert answer["status"] == "ok", answer
        return answer

    def arrays(self, request: Any) -> dict[str, np.ndarray]:
        names = self.ok(request("c", self.folder))["arrays"]
        return {name: np.load(Path(self.folder, f"{name}.npy")) for name in names}

    def output(self) -> dict[str, np.ndarray]:
        return self.arrays(protocol.OutputRequest)

    def last(self) -> dict[str, np.ndarray]:
        return self.arrays(protocol.LastRequest)

    def refilled_output(self, seed: int) -> dict[str, np.ndarray]:
        self.ok(protocol.RefillRequest("c", seed))
        return self.output()

    def with_flipped_inputs(self) -> dict[str, np.ndarray]:
        """Return the output of another case that is opened with the inputs of SEED."""
        workload = WORKLOADS[self.spec.workload]
        inputs = workload.make_inputs(self.spec, 42)
        (name,) = inputs.refilled
        given = getattr(inputs, name)
        for array in given if isinstance(given, list) else [given]:
            flip_signs(array, sign_mask(SEED))
        return workload.open(self.spec, inputs, self.session._device, no_mark).output()


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    """Compare the arrays that both have."""
    names = set(found) & set(expected)
    return bool(names) and all(np.array_equal(found[name], expected[name]) for name in names)


def refills(opened: Opened) -> dict[str, bool]:
    as_opened = opened.output()
    refilled = opened.refilled_output(SEED)
    before = len(compiled)
    again = opened.refilled_output(0)
    return {
        "changed": not same(refilled, as_opened),
        "restored": same(again, as_opened),
        "repeatable": same(opened.refilled_output(SEED), refilled),
        "other seeds differ": not same(opened.refilled_output(1), refilled),
        "nothing is compiled": len(compiled) == before,
        "right": same(refilled, opened.with_flipped_inputs()),
    }


def trained_weights(opened: Opened) -> np.ndarray:
    """Return those after another sample of the same inputs, W and b layer by layer."""
    opened.case._sample()
    weights = [np.asarray(weight) for weight in opened.case._trainer.weights]
    assert [weight.ndim for weight in weights] == [2, 1] * (len(weights) // 2)
    return np.concatenate([weight.reshape(-1) for weight in weights])


def samples(opened: Opened) -> dict[str, bool]:
    early = opened.session.handle(protocol.LastRequest("c", opened.folder))
    before = len(compiled)
    request = protocol.SampleRequest("c", 10**12, 1, 1, 0, fresh=SEED)
    phases = opened.ok(request)["phases"]
    n_compiled = len(compiled) - before
    kept, opened.session._cases["c"].case = opened.case, None  # so that nothing can run
    left = opened.last()
    opened.session._cases["c"].case = kept
    weights = trained_weights(opened) if "weights" in left else None
    output = opened.output()
    return {
        "early": early["reason"] == 'last before sample with "fresh"',
        "one more": {len(values) for values in phases.values()} == {2},
        "nothing is compiled for a sample": n_compiled == 0,
        "last": same(left, output) and set(left) - {"weights"} <= set(output),
        "weights": weights is None or np.array_equal(left["weights"], weights),
        "of the fresh inputs": not same(left, opened.refilled_output(0)),
    }


def audits(opened: Opened) -> dict[str, bool]:
    """Count the runs by what all of them call."""
    names = ("run", "_train_and_wait", "_run_epoch", "_train")
    name = next(name for name in names if hasattr(opened.case, name))
    work, runs = getattr(opened.case, name), []
    setattr(opened.case, name, lambda *given: (runs.append(name), work(*given))[1])
    answers = [opened.ok(protocol.AuditRequest("c", n)) for n in (0, 1, 4)]
    delattr(opened.case, name)
    return {
        "audited": len(runs) == 5,
        "phase": {answer["phase"] for answer in answers} == {"train"},
        "still right": same(opened.refilled_output(SEED), opened.with_flipped_inputs()),
    }


def broken(device: CpuDevice, workload: str, variant: str, params: dict[str, Any]) -> list[str]:
    """Return what does not hold for a case."""
    with tempfile.TemporaryDirectory() as folder:
        opened = Opened(device, workload, variant, params, folder)
        checks = {**samples(opened), **refills(opened), **audits(opened)}
    return [check for check, holds in checks.items() if not holds]


def main() -> int:
    few = few_images()
    mnist_data.load = lambda: few
    found = {}
    every = "--all" in sys.argv
    for d, device in enumerate((CpuDevice(), AsOnAGpu())):
        for w, (workload, params) in enumerate(PARAMS.items()):
            for variant in list(WORKLOADS[workload].modes)[0 if every else -1 :]:
                if every or w % 2 != d:
                    name = f"{device.kind} {workload} {variant}"
                    found[name] = broken(device, workload, variant, params)
    assert compiled, "the listener hears of compilations"
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
