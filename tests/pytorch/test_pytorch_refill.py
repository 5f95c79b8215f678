"""refill, fresh samples, last and audit: every mode of a workload, on the CPU and as on a GPU."""

import copy
import ctypes
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import made_inputs  # noqa: E402
import operator_cases as operators  # noqa: E402

import forward  # noqa: E402
import host_to_host  # noqa: E402
import operator_modes  # noqa: E402
import protocol  # noqa: E402
import refill  # noqa: E402
from operator_workload import OperatorWorkload  # noqa: E402
from session import Session  # noqa: E402

LONG = pytest.mark.long
SEED = 123456789012345678
PARAMS = {"batch": 33, "layers": [4, 5, 2]}
CASES = [
    (device, variant)
    for device in ("cpu", "cuda")
    for variant in OperatorWorkload.modes
    if device == "cuda" or variant in ("eager", "inference")
    # The compiler's own graphs need a GPU; without them this mode is that of the CPU. The last three
    # are of trainings.
    if variant not in ("compile", "oracle", "combo_graph", "manual_graph", "dataloader")
]
# In make check the first and the last mode of each.
FIRST = {case[0]: case for case in reversed(CASES)}
LAST = {case[0]: case for case in CASES}


def parametrized(cases):
    params = [
        pytest.param(*case, marks=() if case in (FIRST[case[0]], LAST[case[0]]) else LONG)
        for case in cases
    ]
    return pytest.mark.parametrize(("device", "variant"), params)


every_case = parametrized(CASES)


class Breakable:
    """A graph that can be broken."""

    writes = True

    def replay(self):
        if Breakable.writes:
            super().replay()


class Replay(Breakable, fake_gpu.Replay): ...


class Opened:
    """A case in a session, asked as the supervisor does."""

    def __init__(self, monkeypatch, tmp_path, device, variant):
        self.folder = tmp_path
        self.session = Session("cpu")
        if device == "cuda":
            fake = fake_gpu.install(monkeypatch, forward, host_to_host)
            # On the CPU a view of host memory on the device is that memory.
            monkeypatch.setattr(operator_modes, "device_view", lambda host: host)
            monkeypatch.setattr(forward, "capture", Replay)
            monkeypatch.setattr(self.session, "_device", fake)
            monkeypatch.setattr(self.session, "prepare", lambda _request: None)
        self.spec = protocol.CaseSpec("c", "mlp_infer", "pytorch", device, variant, "f32", PARAMS)
        keys = {"case": vars(self.spec), "seed": 42, **self._described()}
        self._request = operators.parsed(op="open", **keys)
        self.answer = self.ok(self._request)

    def _described(self):
        """Return what `open` has of the workload, after making its inputs."""
        operator, inputs = operators.mlp(self.folder, **self.spec.params), self.folder / "inputs"
        for seed in (0, SEED):
            made_inputs.make(inputs, operator["arrays"], 42, seed)
        return {"operator": operator, "inputs": str(inputs)}

    def open_other(self):
        """Open the same case under another id, and return it."""
        request = replace(self._request, case=replace(self.spec, id="other"))
        assert self.session.handle(request)["status"] == "ok"
        return self.session._cases["other"].case

    @property
    def case(self):
        return self.session._cases["c"].case

    def ok(self, request):
        answer = self.session.handle(request)
        assert answer["status"] == "ok", answer
        assert answer["id"] == "c"
        return answer

    def arrays(self, request):
        names = self.ok(request("c", str(self.folder)))["arrays"]
        return {name: np.load(self.folder / f"{name}.npy") for name in names}

    def output(self):
        return self.arrays(protocol.OutputRequest)

    def last(self):
        return self.arrays(protocol.LastRequest)

    def refill(self, seed):
        self.ok(protocol.RefillRequest("c", seed))

    def sample(self, fresh=None, max_samples=2):
        request = protocol.SampleRequest("c", 10**11, max_samples, 1, 0, fresh=fresh)
        return self.ok(request)["phases"]


@pytest.fixture
def opened(monkeypatch, tmp_path, device, variant):
    return Opened(monkeypatch, tmp_path, device, variant)


def same(found, expected, tolerance=0.0):
    """Compare the arrays that both have."""
    assert set(found) & set(expected)
    return all(
        np.allclose(found[name], expected[name], rtol=tolerance, atol=tolerance)
        for name in set(found) & set(expected)
    )


@pytest.mark.parametrize(("device", "variant"), [case for case in CASES if case[1] == "eager"])
def test_cases_that_share_inputs_are_refilled_alone(opened):
    other = opened.open_other()
    before = other.output()
    opened.refill(SEED)
    assert same(other.output(), before)


@pytest.mark.parametrize(("device", "variant"), [case for case in CASES if case[1] == "eager"])
def test_only_what_the_last_sample_left_is_kept(opened):
    """It is on the device: with many cases open, that would be a lot."""
    opened.open_other()
    opened.sample(SEED)
    assert opened.last()
    limits = {"budget_ns": 0, "max_samples": 1, "warmup_samples": 0, "warmup_ns": 0}
    answer = opened.session.handle(protocol.SampleRequest("other", **limits))
    assert answer["status"] == "ok"
    answer = opened.session.handle(protocol.LastRequest("c", str(opened.folder)))
    assert answer == {"status": "failed", "id": "c", "reason": 'last before sample with "fresh"'}


@every_case
def test_last_is_the_output_of_the_fresh_inputs(opened):
    results = copy.deepcopy(opened.case.results())
    answer = opened.session.handle(protocol.LastRequest("c", str(opened.folder)))
    assert answer == {"status": "failed", "id": "c", "reason": 'last before sample with "fresh"'}
    opened.sample(SEED)
    case, opened.session._cases["c"].case = opened.case, None  # so that nothing can run
    left = opened.last()
    opened.session._cases["c"].case = case
    output = opened.output()
    assert set(left) == set(output)
    assert same(left, output)
    opened.refill(0)
    assert not same(left, opened.output(), 1e-3)
    assert same(opened.last(), left), "later requests do not change it"
    opened.sample()
    answer = opened.session.handle(protocol.LastRequest("c", str(opened.folder)))
    assert answer["status"] == "failed"
    assert opened.ok(protocol.CloseRequest("c"))["results"] == results, "those as opened"


@every_case
def test_the_fresh_sample_is_the_last_of_each_phase(opened, monkeypatch):
    """It has the new inputs, and its outputs are random before; the compared one's are kept at once."""
    events, compared = [], []

    def watched(index, probe):
        def run():
            sample = probe()
            events.append(index)
            if "host_to_host" in sample.ns:
                compared.append(index)
            return sample._replace(ns={name: len(events) for name in sample.ns})

        return run

    case = opened.case
    case.probes = [watched(i, probe) for i, probe in enumerate(case.probes)]
    keep = "keep" if hasattr(case, "keep") else "read"
    for name in ("load", "leave_random", keep):
        real = getattr(case, name)
        call = lambda *given, name=name, real=real: (events.append(name), real(*given))  # noqa: E731
        monkeypatch.setattr(case, name, call)
    phases = opened.sample(SEED, max_samples=1)
    assert set(phases) == set(case.phases)
    expected = []
    for i in range(len(case.probes)):
        renewed = ["leave_random", "load"] if i == 0 else ["leave_random"]
        kept = [keep] if i in compared else []
        expected += [i, i, *renewed, i, *kept]  # warm-up, ordinary, fresh
    assert events == expected
    assert {len(samples) for samples in phases.values()} == {2}
    assert len(set(compared)) == 1


@pytest.mark.parametrize(("device", "variant"), [case for case in CASES if "graph" in case[1]])
def test_a_run_that_writes_nothing_leaves_no_old_output(opened, monkeypatch):
    opened.sample(SEED)
    right = opened.last()
    monkeypatch.setattr(Breakable, "writes", False)
    lefts = []
    for _ in range(2):
        opened.sample(SEED)
        lefts.append(opened.last())
    for left in (*lefts, right):
        assert not same(left, lefts[0], 1e-3) or left is lefts[0]


@every_case
def test_an_audit_runs_what_is_timed_so_many_times(opened, monkeypatch):
    opened.refill(SEED)
    output = opened.output()
    counted = Counter()

    class Counting:
        def __init__(self, timed):
            self._timed = timed

        def __enter__(self):
            work = self._timed.__enter__()

            def run():
                counted["runs"] += 1
                return work()

            return run

        def __exit__(self, *error):
            return self._timed.__exit__(*error)

    timed = opened.case.timed
    monkeypatch.setattr(opened.case, "timed", lambda: Counting(timed()))
    for runs in (0, 1, 5):
        counted.clear()
        answer = opened.ok(protocol.AuditRequest("c", runs))
        assert answer == {"status": "ok", "id": "c", "phase": "host_to_host"}
        assert counted["runs"] == runs
    assert same(opened.output(), output)
    monkeypatch.setattr(opened.case, "audited", "batch", raising=False)
    assert opened.ok(protocol.AuditRequest("c", 0))["phase"] == "batch"


@pytest.mark.parametrize(("device", "variant"), [("cuda", "graph")])
def test_an_audit_by_the_devices_clock_waits_once_for_all_runs(opened, monkeypatch):
    """The time of a wait for each graph would make a true claim look too low."""
    opened.refill(SEED)
    done = []
    replay, wait = opened.case._repeated.replay, opened.case._wait
    monkeypatch.setattr(opened.case._repeated, "replay", lambda: (done.append("run"), replay()))
    monkeypatch.setattr(opened.case, "_wait", lambda: (done.append("wait"), wait()))
    answer = opened.ok(protocol.AuditRequest("c", 3, "forward_graph"))
    assert answer["calls"] == opened.case._n_repeats
    assert done == ["run", "run", "run", "wait"]


# What a run finds after it has made new inputs in memory, in pages that it gets anew.
FAULTS = """
import resource
import host_memory
import numpy as np
host_memory.keep_freed()
for _ in range(2):
    inputs = [np.ones(1 << 22, np.float32) for _ in range(8)]
    del inputs
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt  # mood: of this process alone
before = faults()
np.ones(1 << 22, np.float32)
print(faults() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="glibc's malloc")
def test_runs_reuse_the_memory_of_what_made_their_inputs():
    common = Path(refill.__file__).parent
    faults = subprocess.check_output([sys.executable, "-c", FAULTS], cwd=common)
    assert int(faults) < 100, "16 MB are 4,096 pages"
