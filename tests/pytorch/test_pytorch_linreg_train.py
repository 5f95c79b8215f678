"""linreg_train through the worker: exact points, known trainings, reasons for failures."""

import json
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch

import host_memory  # noqa: E402
import linreg_train  # noqa: E402
import linreg_trainers  # noqa: E402
from capturing import compiled  # noqa: E402
from device import CpuDevice  # noqa: E402
from linreg_operations import EagerOperations  # noqa: E402
from linreg_points import START, Params, Points  # noqa: E402
from linreg_train import MODES, LinregTrain, LinregTraining  # noqa: E402
from linreg_trainers import Trainer  # noqa: E402
from timing import no_mark  # noqa: E402
from workload import CaseError, Skip  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "linreg.json").read_text())
FAST_MODES = ["eager", "graph"]
SLOW_MODES = ["compile", "compile_graph", "combo_graph"]


def bits(value) -> str:
    return f"{value.view(np.uint32).item():08x}"


@pytest.mark.parametrize("known", KNOWN["data"], ids=lambda known: known["points"])
def test_points_to_the_bit(known):
    data = Points(known["points"], known["seed"])
    assert data.x_test.size == data.y_test.size == known["points"] // 5
    assert data.x_train.size == data.y_train.size == known["points"] - known["points"] // 5
    for i, x, y in known["told"]:
        at = i // 5
        if i % 5 == 4:
            found = data.x_test[at], data.y_test[at]
        else:
            found = data.x_train[i - at], data.y_train[i - at]
        assert tuple(map(bits, found)) == (x, y), i


def open_case(worker, variant, points=4999, epochs=200, rate=0.01, **keys):
    params = {"points": points, "epochs": epochs, "rate": rate}
    return worker.open(variant, workload="linreg_train", **{"params": params, **keys})


def takes_gpu(variant="", **_):
    return "graph" in variant


def open_ok(worker, variant, *training, **keys):
    answer = open_case(worker, variant, *training, **keys)
    assert answer["status"] == "ok", answer
    return answer


def check_output(worker, case_id, folder, known):
    names = ["params", "losses", *(["test_loss"] if known["test_loss"] else [])]
    answer = worker.ask("output", id=case_id, path=str(folder))
    assert answer == {"status": "ok", "id": case_id, "arrays": names}
    # With few points, single float32 roundings do not average out.
    tolerance = max(5e-6, 1e-4 / known["points"] ** 0.5)
    for name in names:
        found, expected = np.load(folder / f"{name}.npy"), np.array(known[name])
        assert found.dtype == np.float64
        assert found.shape == expected.shape
        error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        assert error <= tolerance, name


def check_samples(opened, sampled):
    assert sampled["status"] == "ok", sampled
    phases = sampled["phases"]
    assert set(phases) == set(opened["phases"])
    parts = [phases[name] for name in ("init", "train", "d2h") if name in phases]
    sums = [sum(sample) for sample in zip(*parts, phases["residual"], strict=True)]
    assert sums == phases["total"]
    assert min(phases["residual"]) >= 0


@pytest.mark.parametrize(
    ("variant", "known"),
    [(variant, known) for variant in FAST_MODES for known in KNOWN["trainings"]]
    + [
        pytest.param(variant, KNOWN["trainings"][i], marks=mark)
        for variant in SLOW_MODES
        for i, mark in ((0, ()), (-1, pytest.mark.long))
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value['points']}x{value['epochs']}",
)
def test_known_training_before_and_after_sampling(worker, tmp_path, variant, known):
    training = known["points"], known["epochs"], known["rate"]
    opened = open_ok(worker, variant, *training, seed=KNOWN["seed"])
    check_output(worker, opened["id"], tmp_path, known)
    check_samples(opened, worker.sample(opened["id"], max_samples=2, warmup_samples=1))
    check_output(worker, opened["id"], tmp_path, known)
    results = worker.ask("close", id=opened["id"])["results"]
    assert [results["w"], results["b"]] == pytest.approx(known["params"], rel=5e-6)
    epochs = [*range(0, known["epochs"], 10), known["epochs"]]
    assert [epoch for epoch, _ in results["loss"]] == epochs
    assert ("test_loss" in results) == (known["test_loss"] is not None)


def test_phases_match_mode_and_device(worker):
    opened = open_ok(worker, "eager", 50, 2)
    phases = ["init", "train", "total", "residual", "host_to_host"]
    expected = dict.fromkeys(phases, "host")
    if worker.device == "cuda":
        expected |= {"d2h": "host", "train_device": "device"}
    assert opened["phases"] == expected
    assert set(opened["once_ns"]) == {"data", "first_run"}
    worker.ask("close", id=opened["id"])


PARTS = ["forward", "loss", "backward", "update"]
OPERATIONS = [
    ("eager", PARTS),
    ("graph", ["fused"]),
    pytest.param("compile", [*PARTS, "fused"], marks=pytest.mark.long),
    pytest.param("compile_graph", ["fused"], marks=pytest.mark.long),
]


@pytest.mark.parametrize(("variant", "names"), OPERATIONS)
def test_one_epoch_has_operations(worker, tmp_path, variant, names):
    opened = open_ok(worker, variant, 4999, 1)
    clock = "device" if worker.device == "cuda" else "host"
    found = {name: opened["phases"].get(name) for name in [*PARTS, "fused"]}
    assert {name: found[name] for name in found if found[name]} == dict.fromkeys(names, clock)
    # `output` compares the trainings of all probes and returns the last.
    answer = worker.ask("output", id=opened["id"], path=str(tmp_path))
    assert answer["status"] == "ok", answer
    sampled = worker.sample(opened["id"], max_samples=3)
    check_samples(opened, sampled)
    for name in names:
        assert min(sampled["phases"][name]) > 0
    results = worker.ask("close", id=opened["id"])["results"]
    trained = [results["w"], results["b"]]
    assert np.load(tmp_path / "params.npy").tolist() == pytest.approx(trained, rel=5e-6)
    assert [epoch for epoch, _ in results["loss"]] == [0, 1]


@pytest.mark.parametrize("variant", FAST_MODES)
def test_more_epochs_have_no_operations(worker, variant):
    opened = open_ok(worker, variant, 4999, 2)
    assert not {*PARTS, "fused"} & set(opened["phases"])
    worker.ask("close", id=opened["id"])


def open_here(kind, points, epochs, mode=MODES["eager"], device=None):
    params = Params(points, epochs, 0.01)
    return kind(mode, Points(points, 1), params, device or CpuDevice(), no_mark)


class SkipsTheUpdate(LinregTraining):
    """Its operations omit the update."""

    def _build_operations(self):
        operations = super()._build_operations()
        operations.parts = lambda: (*EagerOperations.parts(operations)[:3], lambda: None)
        return operations


def test_operations_that_do_not_train_are_detected():
    case = open_here(SkipsTheUpdate, 10, 1)
    with pytest.raises(CaseError, match="output: _phased and _by_operation runs differ in params"):
        case.output()


@pytest.mark.parametrize(
    ("device", "need"), [("cpu", "needs 77.3 GB of"), ("cuda", "needs 25.8 GB of")]
)
def test_points_that_exceed_host_memory_are_skipped(monkeypatch, device, need):
    from protocol import CaseSpec

    params = {"points": 2**31 - 1, "epochs": 1, "rate": 0.01}
    spec = CaseSpec("c", "linreg_train", "pytorch", device, "eager", "f32", params, {})
    monkeypatch.setattr(host_memory, "_available_bytes", lambda: 16_000_000_000)
    with pytest.raises(Skip, match=f"{need} host memory, 16.0 GB are free"):
        LinregTrain().make_inputs(spec, 42)


def test_memory_sizes_are_printed_as_by_the_supervisor(monkeypatch):
    monkeypatch.setattr(host_memory, "_available_bytes", lambda: 999)
    host_memory.expect_room(999)
    with pytest.raises(Skip, match=r"needs 1.00 kB of host memory, 999 B are free"):
        host_memory.expect_room(1000)
    monkeypatch.setattr(host_memory, "_available_bytes", lambda: None)
    host_memory.expect_room(1e30)


@pytest.mark.parametrize("variant", FAST_MODES)
def test_a_rate_that_diverges_fails_with_the_epoch(worker, variant):
    answer = open_case(worker, variant, 5000, 200, 0.05, id="c")
    reason = "loss is not finite from epoch 50 on"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


class KeepsOldLosses(Trainer):
    """Trains; records losses only while `records`."""

    records = True

    def train(self):
        kept = self._task.losses.clone()
        super().train()
        if not KeepsOldLosses.records:
            self._task.losses.copy_(kept)


def test_losses_of_an_earlier_run_are_detected(monkeypatch):
    mode = MODES["eager"]._replace(make=KeepsOldLosses)
    case = open_here(LinregTraining, 10, 20, mode)
    monkeypatch.setattr(KeepsOldLosses, "records", False)
    right, losses = case._fit["losses"], case.output()["losses"]
    assert not np.isclose(losses[:-1], right[:-1]).any()


# ---- new inputs, and captured epochs on the CPU ----------------------------------------------------


def check_fit(found, case_like, points, epochs, seed, start=START):
    """Compare with a training in float64."""
    data = Points(points, seed)
    x, y = data.x_train.astype(np.float64), data.y_train.astype(np.float64)
    w, b = start
    losses = []
    for epoch in range(epochs + 1):
        error = w * x + b - y
        if epoch % 10 == 0 or epoch == epochs:
            losses.append((error**2).mean().item())
        if epoch < epochs:
            w, b = (
                w - 0.01 * 2 * (error * x).mean().item(),
                b - 0.01 * 2 * error.mean().item(),
            )
    assert found["params"].tolist() == pytest.approx([w, b], rel=2e-5)
    assert found["losses"].tolist() == pytest.approx(losses, rel=2e-5)
    assert set(found) == set(case_like)


@pytest.fixture
def gpu(monkeypatch):
    return fake_gpu.install(monkeypatch, linreg_trainers, linreg_train)


@pytest.mark.parametrize("epochs", [1, 2, 29, 30, 60, 75, 200])
@pytest.mark.parametrize("variant", ["graph", "compile_graph"])
def test_graphs_of_any_number_of_epochs(gpu, monkeypatch, variant, epochs):
    """One graph up to 64 epochs, then graphs of 60 and a shorter one."""
    monkeypatch.setattr(linreg_trainers, "_EPOCHS_AT_ONCE", 64)
    case = open_here(LinregTraining, 40, epochs, MODES[variant], gpu)
    check_fit(case.output(), ["params", "losses", "test_loss"], 40, epochs, 1)
    for probe in case.probes:
        probe()
        check_fit(case.read(), ["params", "losses", "test_loss"], 40, epochs, 1)


@pytest.mark.parametrize(("epochs", "graphs"), [(1, 3), (64, 2), (65, 2), (120, 1)])
def test_a_training_is_few_graphs(gpu, monkeypatch, epochs, graphs):
    """The whole; with the copy to the host; for one epoch also the epoch. Else stretches."""
    monkeypatch.setattr(linreg_trainers, "_EPOCHS_AT_ONCE", 64)
    open_here(LinregTraining, 4, epochs, MODES["graph"], gpu)
    assert fake_gpu.Replay.captured == graphs


@pytest.mark.parametrize("variant", ["eager", "graph", "compile_graph"])
@pytest.mark.parametrize("epochs", [1, 25, 75])
def test_new_points_and_start_values_are_used(gpu, monkeypatch, variant, epochs):
    monkeypatch.setattr(linreg_trainers, "_EPOCHS_AT_ONCE", 64)
    case = open_here(LinregTraining, 40, epochs, MODES[variant], gpu)
    captured = fake_gpu.Replay.captured
    names = case.output()
    case.load(Points(40, 7), (0.5, 0.25))
    for probe in case.probes:
        probe()
        check_fit(case.read(), names, 40, epochs, 7, (0.5, 0.25))
    check_fit(case.output(), names, 40, epochs, 7, (0.5, 0.25))
    assert fake_gpu.Replay.captured == captured


def test_cases_that_share_points_do_not_share_buffers():
    points = Points(40, 1)
    cases = [
        LinregTraining(MODES["eager"], points, Params(40, 10, 0.01), CpuDevice(), no_mark)
        for _ in range(2)
    ]
    cases[0].load(Points(40, 7))
    check_fit(cases[1].output(), ["params", "losses", "test_loss"], 40, 10, 1)


@pytest.mark.parametrize(
    ("mode", "options"), [("compile_graph", {}), ("combo_graph", {"combo_kernels": True})]
)
def test_both_compiled_functions_have_the_modes_options(gpu, monkeypatch, mode, options):
    asked = []

    def compiled(function, _mode, **keys):
        asked.append(keys)
        return function

    monkeypatch.setattr(linreg_trainers, "compiled", compiled)
    open_here(LinregTraining, 4, 1, MODES[mode], gpu)
    assert asked == [options, options]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["compile_graph", "combo_graph"])
def test_compiled_epochs_write_losses_where_they_are_recorded(gpu, monkeypatch, mode):
    """One compiled function for all places."""
    from torch._dynamo.utils import counters

    monkeypatch.setattr(
        linreg_trainers, "compiled", lambda f, _mode, **keys: compiled(f, "default", **keys)
    )
    case = open_here(LinregTraining, 40, 75, MODES[mode], gpu)
    compiled_before = counters["stats"]["unique_graphs"]
    check_fit(case.output(), ["params", "losses", "test_loss"], 40, 75, 1)
    case.load(Points(40, 7))
    for probe in case.probes:
        probe()
        check_fit(case.read(), ["params", "losses", "test_loss"], 40, 75, 7)
    assert counters["stats"]["unique_graphs"] == compiled_before
