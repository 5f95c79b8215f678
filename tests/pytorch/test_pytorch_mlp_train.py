"""mlp_train through the worker against a training in float64, and reasons for failures.

On a tenth of the synthetic images, both in the worker and in this process.
"""

from typing import Any, NamedTuple

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import mlp_float64  # noqa: E402 -- these need NumPy and PyTorch
from few_images import few_images  # noqa: E402
from mlp_float64 import TOLERANCE, error_of  # noqa: E402

import host_memory  # noqa: E402
import mnist_data  # noqa: E402
from mlp_train import MlpTrain, Params  # noqa: E402
from mnist_mlp import Inputs  # noqa: E402
from protocol import CaseSpec  # noqa: E402
from workload import Skip  # noqa: E402

FAST_MODES = ["dataloader", "eager", "graph"]
SLOW_MODES = ["compile", "compile_graph", "manual_graph"]
# 9 steps per epoch, the last with 400 images.
DEFAULTS = {"width": 8, "depth": 3, "batch": 700, "epochs": 2, "rate": 0.5, "seed": 1}
STEPS = 9
HOST_PHASES = {"train", "validate", "total", "residual", "step"}
DEVICE_PHASES = {"train_device", "validate_device"}


@pytest.fixture(scope="module")
def worker(few_images_worker):
    return few_images_worker


@pytest.fixture(scope="module", autouse=True)
def few_images_here():
    few = few_images()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnist_data, "load", lambda: few)
        yield


def open_case(worker, variant, params, **keys):
    return worker.open(variant, workload="mlp_train", params={**DEFAULTS, **params}, **keys)


def takes_gpu(variant="", dtype="f32", run=None, **_):
    variant, dtype = run or (variant, dtype)
    return "graph" in variant or dtype == "tf32"


def open_ok(worker, variant, dtype="f32", **params):
    answer = open_case(worker, variant, params, dtype=dtype)
    assert answer["status"] == "ok", answer
    return answer


def close(worker, opened):
    answer = worker.ask("close", id=opened["id"])
    assert answer["status"] == "ok", answer
    return answer["results"]


def outputs(worker, opened, folder, n_layers):
    answer = worker.ask("output", id=opened["id"], path=str(folder))
    names = [*(f"gradient_{layer}" for layer in range(n_layers)), "losses"]
    assert answer.get("arrays") == names, answer
    return [np.load(folder / f"{name}.npy") for name in names]


def check_outputs(arrays, dtype, trained):
    for found, expected in zip(arrays, [*trained.gradients, trained.losses], strict=True):
        assert found.dtype == np.float32
        assert error_of(found, expected) < TOLERANCE[dtype]


class Run(NamedTuple):
    """A case from its opening to its close."""

    worker: Any
    variant: str
    dtype: str
    opened: Any
    phases: Any
    outputs: list[Any]
    """Before and after sampling."""
    results: Any


CASES = [
    pytest.param((mode, dtype), marks=marks, id=f"{mode}-{dtype}")
    for modes, marks in ((FAST_MODES, ()), (SLOW_MODES, pytest.mark.long))
    for mode in modes
    for dtype in TOLERANCE
]


@pytest.fixture(scope="module", params=CASES)
def run(request, worker, tmp_path_factory):
    """Return a run of the default case."""
    variant, dtype = request.param
    folder = tmp_path_factory.mktemp(variant)
    opened = open_ok(worker, variant, dtype)
    before = outputs(worker, opened, folder, DEFAULTS["depth"])
    phases = worker.sample(opened["id"], max_samples=2, warmup_samples=1)["phases"]
    after = outputs(worker, opened, folder, DEFAULTS["depth"])
    return Run(worker, variant, dtype, opened, phases, [before, after], close(worker, opened))


# ---- training in float64 ---------------------------------------------------------------------------


def test_both_epochs_match_float64(run):
    """The last step of each has fewer images, and the second has a different order."""
    trained = mlp_float64.train(Inputs(Params(**DEFAULTS)), 2 * STEPS)
    for arrays in run.outputs:
        check_outputs(arrays, run.dtype, trained)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("params", "checked"),
    [
        # 94 steps per epoch, the last with 48 images.
        ({"width": 16, "batch": 64, "depth": 4, "seed": 7, "rate": 0.1, "epochs": 1}, 50),
        ({"width": 9, "batch": 6000, "depth": 2, "rate": 0.1, "epochs": 3}, 3),
    ],
    ids=["many steps", "one step per epoch"],
)
@pytest.mark.parametrize("variant", FAST_MODES)
def test_first_steps_match_float64(worker, tmp_path, variant, params, checked, dtype):
    opened = open_ok(worker, variant, dtype, **params)
    trained = mlp_float64.train(Inputs(Params(**{**DEFAULTS, **params})), checked)
    check_outputs(outputs(worker, opened, tmp_path, params["depth"]), dtype, trained)
    close(worker, opened)


def test_complete_training_matches_float64(run):
    inputs, tolerance = Inputs(Params(**DEFAULTS)), TOLERANCE[run.dtype]
    for epoch, found in enumerate(run.results["epochs"], 1):
        trained = mlp_float64.train(inputs, STEPS * epoch)
        assert found["epoch"] == epoch
        assert found["validation_loss"] == pytest.approx(trained.validation_loss, rel=tolerance)
        # An image whose two best digits are close may get the other label: one of a thousand, or
        # more with tf32.
        assert found["accuracy"] == pytest.approx(trained.accuracy, abs=max(0.0011, tolerance))
    assert run.results["loss"] == [
        [step, pytest.approx(trained.losses[step], rel=tolerance)] for step in (0, 10, 17)
    ]


# ---- phases and results ----------------------------------------------------------------------------


def test_samples_have_every_phase(run):
    assert run.opened["phases"] == {
        **dict.fromkeys(HOST_PHASES, "host"),
        **(dict.fromkeys(DEVICE_PHASES, "device") if run.worker.device == "cuda" else {}),
    }
    made = {"compile": {"compile"}, "graph": {"capture"}, "compile_graph": {"compile", "capture"}}
    once = {"data", "training", "first_run", *made.get(run.variant, ())}
    assert set(run.opened["once_ns"]) == once
    phases = run.phases
    assert set(phases) == set(run.opened["phases"])
    names = ("train", "validate", "residual")
    sums = [sum(sample) for sample in zip(*(phases[name] for name in names), strict=True)]
    assert sums == phases["total"]
    assert min(phases["residual"]) >= 0
    assert phases["step"] == pytest.approx([train / STEPS for train in phases["train"]])


@pytest.mark.parametrize("variant", FAST_MODES)
def test_a_training_learns_and_returns_results(worker, variant):
    opened = open_ok(worker, variant, width=32, batch=64)
    results = close(worker, opened)
    everywhere = {"loss", "epochs", "accuracy", "dataset"}
    of_epoch = {"epoch", "validation_loss", "accuracy"}
    if worker.device == "cuda":
        assert results["allocator"] == "caching"
        everywhere.add("allocator")
        of_epoch |= {"driver_calls", "calls", "hits"}
        of_epoch |= {"reserved_bytes", "allocated_bytes", "peak_bytes"}
        assert results["epochs"][1]["driver_calls"] == 0
    assert set(results) == everywhere
    assert [set(epoch) for epoch in results["epochs"]] == [of_epoch] * 2
    assert [epoch["epoch"] for epoch in results["epochs"]] == [1, 2]
    assert results["dataset"] == "synthetic"
    assert [step for step, _ in results["loss"]] == [*range(0, 190, 10), 187]
    assert results["loss"][-1][1] < results["loss"][0][1] / 10
    assert results["accuracy"] == results["epochs"][1]["accuracy"] > 0.96


def test_untrained_accuracy_is_at_chance_level(worker):
    opened = open_ok(worker, "eager", batch=6000, rate=1e-9)
    results = close(worker, opened)
    assert 0.02 < results["accuracy"] < 0.3


# ---- skipped, failed and invalid cases -------------------------------------------------------------


@pytest.mark.parametrize(("width", "need"), [(8192, "1.40 GB"), (784, "290 MB")])
def test_weights_that_exceed_host_memory_are_skipped(monkeypatch, width, need):
    monkeypatch.setattr(host_memory, "_available_bytes", lambda: 100_000_000)
    params = {**DEFAULTS, "depth": 4, "width": width}
    spec = CaseSpec("c", "mlp_train", "pytorch", "cuda", "eager", "f32", params=params)
    with pytest.raises(Skip, match=f"needs {need} of host memory, 100 MB are free"):
        MlpTrain().make_inputs(spec, 42)
