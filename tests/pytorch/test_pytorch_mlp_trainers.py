"""The trainers of mlp_train on few images, with the GPU trainers run on the CPU."""

from types import SimpleNamespace

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import mlp_float64  # noqa: E402 -- these need NumPy and PyTorch
from fake_gpu import ReplaySteps  # noqa: E402
from mlp_float64 import error_of  # noqa: E402

import mlp_captured  # noqa: E402
import mlp_train  # noqa: E402
import mlp_trainers  # noqa: E402
import mnist_data  # noqa: E402
from capturing import compiled  # noqa: E402
from device import CpuDevice, CudaDevice  # noqa: E402
from mlp_captured import CapturedTrainer  # noqa: E402
from mlp_compiled import CompiledTrainer  # noqa: E402
from mlp_manual import ManualTrainer  # noqa: E402
from mlp_train import MODES, LoaderTrainer, MlpTraining, Params  # noqa: E402
from mlp_trainers import FusedTrainer, Task, Trainer  # noqa: E402
from mnist_mlp import Inputs  # noqa: E402
from mnist_params import epoch_order  # noqa: E402
from timing import no_mark  # noqa: E402
from training import Mode  # noqa: E402
from workload import CaseError  # noqa: E402

CPU = torch.device("cpu")
IMAGES = 150


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    full = mnist_data.load()
    parts = (full.train_images, full.train_labels, full.test_images, full.test_labels)
    few = mnist_data.Dataset("mnist", *(part[:IMAGES] for part in parts))
    monkeypatch.setattr(mnist_data, "load", lambda: few)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(mlp_captured, "run_on_side_stream", lambda work: work())
    monkeypatch.setattr(mlp_captured, "capture", ReplaySteps)


def inputs_of(**params):
    defaults = {"width": 8, "depth": 4, "batch": 4, "epochs": 2, "rate": 0.1, "seed": 1}
    return Inputs(Params(**{**defaults, **params}))


def task_of(inputs):
    return Task(
        inputs.params,
        inputs.images_on(CPU),
        inputs.order[0].clone(),
        torch.full((inputs.params.epoch_steps(inputs.n_images),), float("nan")),
    )


def check_trainer(trainer, task, inputs):
    trainer.start(inputs.weights)
    losses = []
    for order in inputs.order:
        task.order.copy_(order)
        trainer.run(len(task.losses))
        losses += task.losses.tolist()
    expected = mlp_float64.train(inputs, len(losses))
    assert error_of(losses, expected.losses) < 1e-4
    task.order.copy_(inputs.order[0])
    trainer.start(inputs.weights)
    gradients = trainer.gradients()
    for layer, gradient in enumerate(expected.gradients):
        w, b = gradients[2 * layer :][:2]
        assert error_of(np.column_stack((w, b)), gradient) < 1e-4, layer


BATCHES = pytest.mark.parametrize("batch", [4, 50, 149, 150])


def not_compiled(function):
    return function


def manual(task):
    return ManualTrainer(task, not_compiled)


@BATCHES
@pytest.mark.parametrize("kind", [Trainer, LoaderTrainer, FusedTrainer, manual])
def test_step_by_step(kind, batch):
    inputs = inputs_of(batch=batch)
    task = task_of(inputs)
    check_trainer(kind(task), task, inputs)


@pytest.mark.usefixtures("no_gpu")
@BATCHES
@pytest.mark.parametrize("at_once", [1, 5, 50])
@pytest.mark.parametrize("kind", [FusedTrainer, manual])
def test_graphs_of_any_number_of_steps(monkeypatch, kind, batch, at_once):
    monkeypatch.setattr(mlp_captured, "_STEPS_AT_ONCE", at_once)
    inputs = inputs_of(batch=batch)
    task = task_of(inputs)
    trainer = CapturedTrainer(kind(task), task, task.full_steps)
    check_trainer(trainer, task, inputs)
    # It starts from the first step again.
    check_trainer(trainer, task, inputs)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("batch", "at_once", "replays"),
    # 37 steps of 4 images and one of 2; graphs of ten steps and of seven; one full batch; three.
    [(4, 256, 1 + 1), (4, 10, 3 + 1 + 1), (150, 256, 1), (50, 256, 1), (50, 2, 1 + 1)],
)
def test_an_epoch_is_few_replays(monkeypatch, batch, at_once, replays):
    replayed = []
    monkeypatch.setattr(mlp_captured, "_STEPS_AT_ONCE", at_once)
    monkeypatch.setattr(ReplaySteps, "replay", lambda self: replayed.append(1))
    inputs = inputs_of(batch=batch)
    task = task_of(inputs)
    CapturedTrainer(FusedTrainer(task), task, task.full_steps).run(len(task.losses))
    assert len(replayed) == replays


@pytest.mark.parametrize(
    ("at_once", "gathered"), [(8192, [148]), (16, [16] * 9 + [4]), (3, [4] * 37)]
)
@pytest.mark.parametrize("kind", [FusedTrainer, manual])
def test_few_images_are_gathered_at_once(monkeypatch, kind, at_once, gathered):
    monkeypatch.setattr(mlp_trainers, "_IMAGES_AT_ONCE", at_once)
    found = []

    class Watched(kind if isinstance(kind, type) else ManualTrainer):
        def _advance(self, steps, numbers):
            found.append(numbers.numel())
            super()._advance(steps, numbers)

    inputs = inputs_of(batch=4)
    task = task_of(inputs)
    trainer = Watched(task) if kind is FusedTrainer else Watched(task, not_compiled)
    trainer.start(inputs.weights)
    trainer.rewind()
    trainer.advance(37)
    assert found == gathered
    expected = mlp_float64.train(inputs, 37).losses
    assert error_of(task.losses[:37].tolist(), expected) < 1e-4


@pytest.mark.usefixtures("no_gpu")
def test_another_rate_is_captured_once():
    """The products of a backward pass written by hand take the rate as a number."""
    inputs = inputs_of()
    task = task_of(inputs)
    trainer = CapturedTrainer(manual(task), task, task.full_steps)
    before = len(trainer._graphs)
    losses = []
    for rate in (0.1, 0.2, 0.1, 0.2):
        trainer.set_rate(rate)
        trainer.start(inputs.weights)
        trainer.run(len(task.losses))
        losses.append(task.losses.tolist())
    assert losses[0] == losses[2] != losses[1] == losses[3]
    # An epoch has one graph and one for its last batch.
    assert len(trainer._graphs) == before + 2


@pytest.mark.long
@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    "kind",
    [
        lambda task: CompiledTrainer(task, "default"),
        lambda task: ManualTrainer(task, lambda function: compiled(function, "default")),
    ],
    ids=["compile", "manual"],
)
def test_compiled(kind):
    """A smaller last batch, and enough layers for small gradients."""
    inputs = inputs_of(batch=40, depth=8, width=16)
    task = task_of(inputs)
    trainer = kind(task)
    trainer.start(inputs.weights)
    trainer.compile(3)
    check_trainer(trainer, task, inputs)
    check_trainer(CapturedTrainer(trainer, task, task.full_steps), task, inputs)


def test_validation_by_batches_matches_that_of_all_images():
    inputs = inputs_of(batch=16)
    task = task_of(inputs)
    trainer = LoaderTrainer(task)
    trainer.start(inputs.weights)
    trainer.run(len(task.losses))
    expected = mlp_train.validation_of(trainer.weights, task.images)
    assert trainer.validation().tolist() == pytest.approx(expected.tolist(), rel=1e-5)


# ---- inputs ----------------------------------------------------------------------------------------


def test_each_epoch_has_its_order():
    ours = inputs_of(width=16, seed=3)
    orders = epoch_order(3, 1, IMAGES)
    assert ours.order[1].tolist() == orders.tolist()
    assert sorted(orders.tolist()) == list(range(IMAGES))
    assert ours.order[0].tolist() != ours.order[1].tolist()


def test_layers_of_the_smallest_and_the_greatest_depth():
    assert inputs_of(depth=2, width=5).params.layers == [(784, 5), (5, 10)]
    layers = inputs_of(depth=16, width=5).params.layers
    assert layers == [(784, 5), *[(5, 5)] * 14, (5, 10)]
    assert inputs_of(depth=16, width=5).params.n_weights == 784 * 5 + 14 * 25 + 50


@pytest.mark.parametrize(
    ("params", "checked"),
    [
        # 38 steps per epoch.
        ({"epochs": 1}, 38),
        ({"epochs": 2}, 50),
        # 2e10 / (6 · 150 · (784 · 784 + 784 · 10)) is 35.6, and 3.5 with more layers.
        ({"batch": 150, "depth": 3, "width": 784, "epochs": 40}, 17),
        ({"batch": 150, "depth": 16, "width": 784, "epochs": 40}, 2),
        ({"batch": 150, "depth": 16, "width": 784, "epochs": 1}, 1),
    ],
    ids=str,
)
def test_steps_that_are_checked(params, checked):
    inputs = inputs_of(**params)
    assert inputs.params.checked_steps(inputs.n_images) == checked


# ---- broken trainings ------------------------------------------------------------------------------


def open_here(kind, **params):
    case = MlpTraining(Mode(kind), inputs_of(**params), CpuDevice(), no_mark)
    case.find_results()
    return case


@pytest.mark.parametrize("step", [0, 17, 37])
def test_a_loss_that_is_not_finite_fails_with_the_step(step):
    class Diverging(Trainer):
        epochs = 0

        def run(self, steps):
            super().run(steps)
            if self.epochs == 1:
                self._task.losses[step:] = float("inf")
            self.epochs += 1

    with pytest.raises(CaseError, match=f"^loss is not finite from step {38 + step} on$"):
        open_here(Diverging)


def test_weights_that_the_last_step_breaks_fail_the_validation():
    class Breaking(Trainer):
        def run(self, steps):
            super().run(steps)
            with torch.no_grad():
                self.weights[-1].fill_(float("nan"))

    with pytest.raises(CaseError, match="^validation loss is not finite after epoch 1$"):
        open_here(Breaking, epochs=1)


def test_the_sample_is_the_first_epoch_from_the_start_weights():
    case = open_here(MODES["eager"].make)
    first = case.results()["epochs"][0]
    for _ in range(2):
        validated = case.probes[0]().output.validation.tolist()
        assert validated == [first["validation_loss"], first["accuracy"]]


# ---- the allocator's statistics --------------------------------------------------------------------


class FakeMemory(SimpleNamespace):
    """Replaces `torch.cuda`."""

    def take(self, n_bytes, from_driver):
        self.calls += 1
        self.allocated += n_bytes
        self.peak = max(self.peak, self.allocated)
        if from_driver:
            self.driver += 1
            self.reserved += n_bytes

    def memory_stats(self):
        return {
            "allocation.all.allocated": self.calls,
            "num_device_alloc": self.driver,
            "num_device_free": 0,
            "reserved_bytes.all.current": self.reserved,
            "allocated_bytes.all.current": self.allocated,
            "allocated_bytes.all.peak": self.peak,
        }

    def memory_allocated(self):
        return self.allocated

    def max_memory_allocated(self):
        return self.peak

    def reset_peak_memory_stats(self):
        self.peak = self.allocated


def test_statistics_cover_the_time_since_the_last_call(monkeypatch):
    memory = FakeMemory(calls=7, allocated=100, reserved=200, driver=3, peak=150)
    monkeypatch.setattr(torch, "cuda", memory)
    device = CudaDevice.__new__(CudaDevice)
    device.watch_memory()
    memory.take(1000, from_driver=True)
    memory.take(10, from_driver=False)
    memory.allocated -= 1000
    names = ["driver_calls", "calls", "hits", "reserved_bytes", "allocated_bytes", "peak_bytes"]
    for expected in ([1, 2, 1, 1100, 10, 1010], [0, 0, 0, 1100, 10, 10]):
        found = device.memory_statistics()
        assert [found[name] for name in names] == expected
    # The peak since `watch_memory`, regardless of calls in between.
    assert device.peak_bytes() == 1010
    assert CpuDevice().memory_statistics() == {}
