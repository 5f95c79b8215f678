"""The trainers of mnist_train, with the GPU trainers run on the CPU."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from fake_gpu import ReplaySteps  # noqa: E402 -- these need PyTorch
from mnist_train import DTYPES, Params  # noqa: E402

import mlp_captured  # noqa: E402
import mlp_manual  # noqa: E402
from capturing import compiled  # noqa: E402
from mlp_captured import CapturedTrainer  # noqa: E402
from mlp_compiled import CompiledTrainer  # noqa: E402
from mlp_manual import ManualTrainer  # noqa: E402
from mlp_trainers import FusedTrainer, Task, Trainer  # noqa: E402
from mnist_mlp import Inputs  # noqa: E402
from mnist_params import DESCENTS, MIXED_DESCENTS  # noqa: E402
from workload import Skip  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "mnist_known.json").read_text())
# The workload's tolerance: relative L2 error of each array.
TOLERANCE = {"f32": 1e-4, "f16": 2.5e-2, "mixed": 2.5e-2}


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(mlp_captured, "run_on_side_stream", lambda work: work())
    monkeypatch.setattr(mlp_captured, "capture", ReplaySteps)
    # On the CPU PyTorch's fused SGD does not update most of a float16 tensor.
    monkeypatch.setattr(FusedTrainer, "optimizer_options", {})


def task_of(params, dtype) -> tuple[Task, Inputs]:
    precision = DTYPES[dtype]
    inputs = Inputs(params, *precision)
    images = inputs.images_on(torch.device("cpu"))
    losses = torch.empty(params.steps)
    return Task(params, *precision, images, inputs.order.clone(), losses, "sum"), inputs


def check_trainer(trainer, task, inputs, known):
    trainer.start(inputs.weights)
    trainer.run(known["steps"])
    tolerance = TOLERANCE[known["dtype"]]
    losses = task.losses.double() / task.params.batch
    expected = torch.tensor(known["losses"], dtype=torch.float64)
    assert (losses - expected).norm() / expected.norm() < tolerance
    trainer.start(inputs.weights)
    gradients = trainer.gradients()
    for layer, norm in enumerate(known["gradient_norms"]):
        both = torch.cat([part.flatten().double() for part in gradients[2 * layer :][:2]])
        assert both.norm().item() == pytest.approx(norm, rel=tolerance)
    for name, rate in (MIXED_DESCENTS if known["dtype"] == "mixed" else DESCENTS).items():
        check_descent(trainer, task, inputs, known, name, rate)


def check_descent(trainer, task, inputs, known, name, rate):
    steps = len(known[name])
    task.order[:steps] = inputs.order[0].clone()
    trainer.start(inputs.weights)
    trainer.set_rate(rate)
    trainer.run(steps)
    trainer.set_rate(task.params.rate)
    task.order[:] = inputs.order
    losses = task.losses[:steps].double() / task.params.batch
    expected = torch.tensor(known[name], dtype=torch.float64)
    error = (losses[0] - losses - expected).norm() / expected.norm()
    assert error < TOLERANCE[known["dtype"]]


def known_task(dtype):
    known = next(known for known in KNOWN["trainings"] if known["dtype"] == dtype)
    names = ("hidden", "batch", "steps", "rate")
    params = Params(*(known[name] for name in names), KNOWN["seed"])
    return known, *task_of(params, dtype)


def manual(task):
    return ManualTrainer(task, lambda function: function)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *(("f16", kind) for kind in (Trainer, FusedTrainer, manual)),
        *(("mixed", kind) for kind in (Trainer, FusedTrainer, manual)),
    ],
)
def test_float16(dtype, kind):
    known, task, inputs = known_task(dtype)
    trainer = kind(task)
    own = torch.float32 if kind is Trainer else DTYPES[dtype].weights
    assert {weight.dtype for weight in trainer.weights} == {own}
    check_trainer(trainer, task, inputs, known)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(dtype, kind) for dtype in ("f32", "f16", "mixed") for kind in (FusedTrainer, manual)],
)
@pytest.mark.parametrize(
    "at_once", [2, 50, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 5))]
)
def test_graphs_of_any_number_of_steps(monkeypatch, dtype, at_once, kind):
    monkeypatch.setattr(mlp_captured, "_STEPS_AT_ONCE", at_once)
    known, task, inputs = known_task(dtype)
    trainer = CapturedTrainer(kind(task), task, known["steps"])
    check_trainer(trainer, task, inputs, known)
    # From the first step again, whatever ran before.
    check_trainer(trainer, task, inputs, known)


# Of 2.4 to 2.7, of 2.8, and of a device that has no memory left.
REFUSALS = [
    (TypeError("addmm() got an unexpected keyword argument 'out_dtype'"), Skip, "'out_dtype'$"),
    (RuntimeError("self and mat2 must have the same dtype, got Float\nmore"), Skip, "got Float$"),
    (torch.OutOfMemoryError("CUDA out of memory."), torch.OutOfMemoryError, ""),
]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("raised", "expected", "end"), REFUSALS)
def test_products_that_pytorch_cannot_add_to_wide_weights(monkeypatch, raised, expected, end):
    def refuse(*_arguments):
        raise raised

    monkeypatch.setattr(mlp_manual, "add_product", refuse)
    cannot = "cannot add a product of torch.float16 to torch.float32: " if expected is Skip else ""
    with pytest.raises(expected, match=f"{cannot}.*{end}"):
        manual(known_task("mixed")[1])
    manual(known_task("f16")[1])


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        pytest.param(
            *("f16", lambda task: CompiledTrainer(task, torch.float32, "default")),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("f16", lambda task: CompiledTrainer(task, task.weights_dtype, "default")),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("mixed", lambda task: CompiledTrainer(task, task.weights_dtype, "default")),
            marks=pytest.mark.long,
        ),
        ("f16", lambda task: ManualTrainer(task, lambda function: compiled(function, "default"))),
        pytest.param(
            "mixed",
            lambda task: ManualTrainer(task, lambda function: compiled(function, "default")),
            marks=pytest.mark.long,
        ),
    ],
    ids=["f32", "f16", "mixed", "manual", "manual mixed"],
)
def test_compiled_float16(dtype, kind):
    known, task, inputs = known_task(dtype)
    trainer = kind(task)
    check_trainer(trainer, task, inputs, known)
    captured = CapturedTrainer(trainer, task, known["steps"])
    check_trainer(captured, task, inputs, known)


@pytest.mark.usefixtures("no_gpu")
def test_float16_weights_are_noticed_where_they_should_be_float32():
    known, task, inputs = known_task("mixed")
    with pytest.raises(AssertionError):
        check_trainer(FusedTrainer(task._replace(weights_dtype=torch.float16)), task, inputs, known)
