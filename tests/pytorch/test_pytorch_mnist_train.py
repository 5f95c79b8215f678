"""mnist_train through the worker on synthetic images: known trainings, reasons for failures."""

import gc
import json
import weakref
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import host_memory  # noqa: E402 -- these need NumPy and PyTorch
import mnist_data  # noqa: E402
from device import CpuDevice  # noqa: E402
from mlp_trainers import Trainer  # noqa: E402
from mnist_mlp import Inputs  # noqa: E402
from mnist_train import MODES, MnistTrain, MnistTraining, Params  # noqa: E402
from timing import no_mark  # noqa: E402
from workload import CaseError, Skip  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "mnist_known.json").read_text())
FAST_MODES = ["eager", "graph"]
SLOW_MODES = ["compile", "compile_graph", "manual_graph"]
LONG_MODES = [pytest.param(mode, marks=pytest.mark.long) for mode in SLOW_MODES]
# The workload's tolerance: relative L2 error of each array.
TOLERANCE = {"f32": 1e-4, "f16": 2.5e-2, "mixed": 2.5e-2}


def open_case(worker, variant, params, **keys):
    every = {"hidden": 16, "batch": 8, "steps": 5, "rate": 0.003, "seed": 1, **params}
    return worker.open(variant, workload="mnist_train", **{"params": every, **keys})


def takes_gpu(variant="", dtype="f32", known=None, **_):
    return "graph" in variant or (known["dtype"] if known else dtype) != "f32"


def open_ok(worker, variant, dtype="f32", **params):
    answer = open_case(worker, variant, params, dtype=dtype)
    if "cannot add a product" in answer.get("reason", ""):
        pytest.skip(answer["reason"])
    assert answer["status"] == "ok", answer
    return answer


def error_of(found, expected) -> float:
    """Return the relative L2 error."""
    found, expected = (np.asarray(array, dtype=np.float64) for array in (found, expected))
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# ---- a model in float64 ----------------------------------------------------------------------------


def rounded(array, dtype):
    return array.astype(np.float16 if dtype == "f16" else np.float32).astype(np.float64)


def loss_and_gradients(params, dtype):
    """Return the loss of the first step and its gradients, the bias's in the last column."""

    def stored(array):
        return rounded(array, dtype) if dtype == "f16" else array

    inputs = Inputs(params, torch.float16 if dtype == "f16" else torch.float32)
    images = mnist_data.load()
    numbers = inputs.order[0].numpy()
    a = rounded(images.train_images[numbers].astype(np.float32) / np.float32(255), dtype)
    layers = [weight.double().numpy() for weight in inputs.weights]
    kept = []
    for w, b in zip(layers[0::2], layers[1::2], strict=True):
        kept.append(a)
        z = a @ w.T + b
        a = stored(np.maximum(z, 0))
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    right = np.arange(params.batch), images.train_labels[numbers]
    loss = -np.log(shares[right]).mean()
    shares[right] -= 1
    delta = stored(shares)
    gradients = []
    for w, a in zip(layers[-2::-2], kept[::-1], strict=True):
        sums = np.column_stack((delta.T @ a, delta.sum(axis=0)))
        gradients.insert(0, sums / params.batch)
        delta = stored((delta @ w) * (a > 0))
    return loss, gradients


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("variant", [*FAST_MODES, *LONG_MODES])
def test_gradients_match_float64(worker, tmp_path, variant, dtype):
    opened = open_ok(worker, variant, dtype, hidden=16, batch=60, steps=3, seed=5)
    answer = worker.ask("output", id=opened["id"], path=str(tmp_path))
    assert answer["arrays"] == [*(f"gradient_{layer}" for layer in range(4)), "losses", "descent"]
    params = Params(hidden=16, batch=60, steps=3, rate=0.003, seed=5)
    loss, gradients = loss_and_gradients(params, dtype)
    for layer, expected in enumerate(gradients):
        found = np.load(tmp_path / f"gradient_{layer}.npy")
        assert found.shape == expected.shape
        assert error_of(found, expected) < TOLERANCE[dtype], layer
    losses = np.load(tmp_path / "losses.npy")
    assert losses.dtype == np.float64
    assert losses.shape == (3,)
    assert error_of(losses[0], loss) < TOLERANCE[dtype]
    worker.ask("close", id=opened["id"])


# ---- known trainings -------------------------------------------------------------------------------


def check_output(worker, case_id, folder, known):
    answer = worker.ask("output", id=case_id, path=str(folder))
    assert answer["status"] == "ok", answer
    tolerance = TOLERANCE[known["dtype"]]
    assert error_of(np.load(folder / "losses.npy"), known["losses"]) < tolerance
    for name in {"descent", "small_descent"} & set(known):
        assert error_of(np.load(folder / f"{name}.npy"), known[name]) < tolerance
    for layer, norm in enumerate(known["gradient_norms"]):
        gradient = np.load(folder / f"gradient_{layer}.npy").astype(np.float64)
        assert np.linalg.norm(gradient) == pytest.approx(norm, rel=tolerance)
        first, last, _ = known["gradient_first_last_sum"][layer]
        corners = [gradient[0, 0], gradient[-1, -1]]
        assert corners == pytest.approx([first, last], rel=10 * tolerance, abs=tolerance * norm)


def check_samples(opened, sampled, steps):
    assert sampled["status"] == "ok", sampled
    phases = sampled["phases"]
    assert set(phases) == set(opened["phases"])
    parts = [phases[name] for name in ("init", "h2d", "train", "d2h") if name in phases]
    sums = [sum(sample) for sample in zip(*parts, phases["residual"], strict=True)]
    assert sums == phases["total"]
    assert min(phases["residual"]) >= 0
    assert phases["step"] == pytest.approx([train / steps for train in phases["train"]])


@pytest.mark.parametrize(
    ("variant", "known"),
    [(variant, known) for variant in FAST_MODES for known in KNOWN["trainings"]]
    + [
        pytest.param(variant, known, marks=pytest.mark.long)
        for variant in SLOW_MODES
        for known in KNOWN["trainings"]
    ],
    ids=lambda value: value if isinstance(value, str) else f"hidden={value['hidden']}",
)
def test_known_training_before_and_after_sampling(worker, tmp_path, variant, known):
    params = {name: known[name] for name in ("hidden", "batch", "steps", "rate")}
    opened = open_ok(worker, variant, known["dtype"], seed=KNOWN["seed"], **params)
    check_output(worker, opened["id"], tmp_path, known)
    sampled = worker.sample(opened["id"], max_samples=2, warmup_samples=1)
    check_samples(opened, sampled, known["steps"])
    check_output(worker, opened["id"], tmp_path, known)
    results = worker.ask("close", id=opened["id"])["results"]
    steps = sorted({*range(0, known["steps"], 10), known["steps"] - 1})
    assert [step for step, _ in results["loss"]] == steps
    losses = [known["losses"][step] for step in steps]
    assert error_of([loss for _, loss in results["loss"]], losses) < TOLERANCE[known["dtype"]]


def test_phases_match_mode_and_device(worker):
    opened = open_ok(worker, "eager")
    expected = dict.fromkeys(["train", "step", "total", "residual"], "host")
    if worker.device == "cuda":
        expected |= dict.fromkeys(["init", "h2d", "d2h"], "host")
        expected |= dict.fromkeys(["train_device", "step_device"], "device")
    assert opened["phases"] == expected
    assert set(opened["once_ns"]) == {"data", "training", "first_run"}
    worker.ask("close", id=opened["id"])


@pytest.mark.parametrize("variant", FAST_MODES)
def test_a_training_longer_than_a_sample_learns(worker, variant):
    opened = open_ok(worker, variant, hidden=32, batch=32, steps=305, rate=0.5)
    assert worker.sample(opened["id"], max_samples=1)["status"] == "ok"
    results = worker.ask("close", id=opened["id"])["results"]
    assert set(results) == {"loss", "accuracy", "dataset", "accumulate", "weights"}
    facts = [results[name] for name in ("dataset", "accumulate", "weights")]
    assert facts == ["synthetic", "f32", "f32"]
    assert [step for step, _ in results["loss"]] == [*range(0, 301, 10), 304]
    assert results["loss"][-1][1] < results["loss"][0][1] / 10
    assert results["accuracy"] > 0.9


def test_untrained_accuracy_is_at_chance_level(worker):
    opened = open_ok(worker, "eager", steps=1, rate=1e-9)
    results = worker.ask("close", id=opened["id"])["results"]
    assert 0.02 < results["accuracy"] < 0.3


def test_a_bad_file_fails_with_its_name(start_worker, tmp_path, monkeypatch):
    bad = tmp_path / "train-images-idx3-ubyte"
    bad.write_bytes(b"<html>")
    monkeypatch.setenv("MNIST_DIR", str(tmp_path))
    worker = start_worker()
    worker.hello()
    answer = open_case(worker, "eager", {}, id="c")
    reason = f"{bad}: ends after 6 bytes, expected 47040016"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


# ---- broken trainings ------------------------------------------------------------------------------


def open_here(kind, **params):
    every = {"hidden": 8, "batch": 4, "steps": 12, "rate": 0.1, "seed": 1, **params}
    mode = MODES["eager"]._replace(make=kind)
    case = MnistTraining(mode, Inputs(Params(**every)), CpuDevice(), no_mark)
    case.find_results()
    return case


class KeepsOldLosses(Trainer):
    """Trains; records losses only while `records`."""

    records = True

    def run(self, steps):
        kept = self._task.losses.clone()
        super().run(steps)
        if not KeepsOldLosses.records:
            self._task.losses.copy_(kept)


def test_losses_of_an_earlier_run_are_detected(monkeypatch):
    case = open_here(KeepsOldLosses)
    right = case.output()["losses"]
    monkeypatch.setattr(KeepsOldLosses, "records", False)
    assert not np.isclose(case.output()["losses"], right).any()


class Idle(Trainer):
    def __init__(self, task):
        super().__init__(task)
        self._optimizer.step = lambda: None


class Climbing(Trainer):
    optimizer_options = {"maximize": True}


class OneLayerShort(Trainer):
    def _step(self, x, y):
        kept = [weight.detach().clone() for weight in self.weights[2:4]]
        loss = super()._step(x, y)
        for weight, old in zip(self.weights[2:4], kept, strict=True):
            weight.detach().copy_(old)
        return loss


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [(Trainer, 0, 1e-4), (Idle, 0.999, 1.001), (Climbing, 2, np.inf), (OneLayerShort, 0.01, 0.2)],
)
def test_a_wrong_update_shows_in_the_descent(kind, least, most):
    known = KNOWN["trainings"][0]
    params = {name: known[name] for name in ("hidden", "batch", "steps", "rate")}
    arrays = open_here(kind, **params).output()
    assert least <= error_of(arrays["descent"], known["descent"]) <= most
    for layer, norm in enumerate(known["gradient_norms"]):
        assert np.linalg.norm(arrays[f"gradient_{layer}"]) == pytest.approx(norm, rel=1e-4)


def test_a_descent_restores_order_and_rate():
    case = open_here(MODES["eager"].make, rate=0.003)
    before = case.output()
    order, rates = case._task.order.clone(), case._trainer._optimizer.param_groups[0]["lr"]
    again = case.output()
    assert all((again[name] == before[name]).all() for name in before)
    assert (case._task.order == order).all()
    assert (order == case._inputs.order).all()
    assert rates == case._trainer._optimizer.param_groups[0]["lr"] == 0.003 / 4


class Diverging(Trainer):
    def run(self, steps):
        super().run(steps)
        self._task.losses[7:] = float("inf")


def test_a_loss_that_is_not_finite_fails_with_the_step():
    with pytest.raises(CaseError, match="^loss is not finite from step 7 on$"):
        open_here(Diverging)


def test_more_is_trained_than_sampled():
    case = open_here(MODES["eager"].make, steps=203)
    assert [step for step, _ in case.results()["loss"]][-2:] == [200, 202]
    assert case.output()["losses"].shape == (200,)


def test_a_model_built_in_a_sample_is_freed(monkeypatch):
    case = open_here(MODES["eager"].make)
    built = []

    def build():
        trainer = Trainer(case._task)
        built.extend(weakref.ref(weight) for weight in trainer.weights)
        return trainer

    monkeypatch.setattr(case, "_build", build)
    gc.disable()
    try:
        case.probes[0]()
        assert len(built) == 8
        assert all(weight() is None for weight in built)
    finally:
        gc.enable()


def spec_of(**keys):
    from protocol import CaseSpec

    params = {"hidden": 16384, "batch": 32, "steps": 5000, "rate": 0.003, "seed": 1}
    every = {"variant": "eager", "device": "cuda", "dtype": "f16", **keys}
    return CaseSpec("c", "mnist_train", "pytorch", params=params, **every)


@pytest.mark.parametrize(
    ("device", "dtype", "need"), [("cpu", "f32", "11.3 GB"), ("cuda", "f16", "4.57 GB")]
)
def test_weights_that_exceed_host_memory_are_skipped(monkeypatch, device, dtype, need):
    monkeypatch.setattr(host_memory, "_available_bytes", lambda: 1_000_000_000)
    with pytest.raises(Skip, match=f"needs {need} of host memory, 1.00 GB are free"):
        MnistTrain().make_inputs(spec_of(device=device, dtype=dtype), 42)


# ---- skipped and invalid cases ---------------------------------------------------------------------
