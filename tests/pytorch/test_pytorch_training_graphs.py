"""The captured trainings as cases, run on the CPU: new inputs, and what a sample leaves."""

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import few_images  # noqa: E402

import mlp_captured  # noqa: E402
import mlp_compiled  # noqa: E402
import mlp_train  # noqa: E402
import mnist_data  # noqa: E402
import mnist_params  # noqa: E402
import mnist_train  # noqa: E402
import training  # noqa: E402
from mnist_mlp import Inputs  # noqa: E402
from timing import no_mark  # noqa: E402

CAPTURED = ["graph", "compile_graph", "manual_graph"]


class Replay:
    """Replaces a CUDA graph: repeats the captured work. A capture does not run it."""

    captured = 0

    def __init__(self, work) -> None:
        Replay.captured += 1
        self.replay = work


@pytest.fixture
def gpu(monkeypatch):
    few = few_images.few_images()
    monkeypatch.setattr(mnist_data, "load", lambda: few)
    device = fake_gpu.install(monkeypatch, mlp_captured, mlp_compiled, training)
    monkeypatch.setattr(mlp_captured, "capture", Replay)
    return device


def mnist_case(variant, device, seed):
    inputs = mnist_inputs(seed)
    return mnist_train.MnistTraining(mnist_train.MODES[variant], inputs, device, no_mark)


def mnist_inputs(seed):
    # Within the 6000 images.
    return Inputs(mnist_train.Params(hidden=8, batch=4, steps=210, rate=0.02, seed=seed))


def mlp_case(variant, device, seed):
    inputs = mlp_inputs(seed)
    return mlp_train.MlpTraining(mlp_train.MODES[variant], inputs, "f32", device, no_mark)


def mlp_inputs(seed):
    return Inputs(mlp_train.Params(width=8, depth=3, batch=700, epochs=2, rate=0.5, seed=seed))


CASES = pytest.mark.parametrize(
    ("open_case", "inputs_of"),
    [(mnist_case, mnist_inputs), (mlp_case, mlp_inputs)],
    ids=["mnist_train", "mlp_train"],
)


def left(case):
    """Return losses and weights of the last sample."""
    weights = [weight.detach().float().numpy() for weight in case._left.weights]
    return {**case.read(), **dict(enumerate(weights))}


def check(found, expected):
    assert set(found) == set(expected)
    for name in expected:
        assert np.linalg.norm(found[name] - expected[name]) <= 1e-4 * np.linalg.norm(expected[name])


@CASES
@pytest.mark.parametrize("variant", CAPTURED)
def test_new_inputs_are_used_without_another_capture(
    gpu, monkeypatch, variant, open_case, inputs_of
):
    monkeypatch.setattr(mnist_data, "MNIST", mnist_data.MNIST._replace(n_train=6000))
    for module in (mnist_params, mnist_train, mlp_train):
        monkeypatch.setattr(module, "MNIST", mnist_data.MNIST)
    eager = open_case("eager", gpu, 7)
    expected = eager.output()
    eager.probes[0]()
    case = open_case(variant, gpu, 1)
    # Another learning rate is captured for the first of these.
    first = case.output()
    captured = Replay.captured
    case.load(inputs_of(7))
    check(case.output(), expected)
    for probe in case.probes:
        assert set(probe().ns) == set(case.phases)
    check(left(case), left(eager))
    case.load(inputs_of(1))
    check(case.output(), first)
    assert Replay.captured == captured
