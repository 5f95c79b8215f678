"""mlp_train on the command line: contenders that agree, and a smaller last batch."""

import runpy
from pathlib import Path

import pytest
from project import EPOCH_MEASURE, ROOT, bench, make_root_without_images, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

torch = pytest.importorskip("torch")

OMP = {"engine": "cpu", "variants": ["omp"]}
TORCH = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "dataloader"]}
STEPS = 7
"""Of an epoch of 200 images, 30 at a time; the last has 20."""


def test_contenders_agree(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    axes = {"width": [4], "depth": [3], "batch": [30], "epochs": [2], "images": [200]}
    keys = {"axes": axes, "measure": EPOCH_MEASURE}
    sweep = write_sweep(tmp_path / "s.json", "mlp_train", [OMP, TORCH], **keys)
    root = make_root_without_images(tmp_path_factory)
    bench("run", sweep, "--out", tmp_path / "run", root=root, MNIST_DIR="")
    right = read_cases(tmp_path / "run").values()
    assert sorted(case["variant"] for case in right) == ["dataloader", "eager", "omp"]
    losses = []
    for case in right:
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        phases, results = case["phases"], case["results"]
        assert phases["step"]["median"] == pytest.approx(
            phases["train"]["median"] / STEPS, rel=0.01
        )
        assert results["dataset"] == "synthetic"
        assert 0 <= results["accuracy"] <= 1
        steps, values = zip(*results["loss"], strict=True)
        assert steps == tuple(range(2 * STEPS))
        losses.append(values)
    assert losses[1:] == [pytest.approx(losses[0], rel=1e-4)] * 2


def test_gradients_by_hand_are_those_of_pytorch() -> None:
    """Their mode needs a GPU."""
    reference = runpy.run_path(str(ROOT / "kernels" / "mlp_train" / "reference.py"))
    torch.manual_seed(1)
    shapes = [(8, 784), (8, 8), (10, 8)]
    w = [(torch.rand(shape) - 0.5) / shape[1] ** 0.5 for shape in shapes]
    b = [torch.rand(shape[0]) - 0.5 for shape in shapes]
    x, labels = torch.rand(200, 784), torch.randint(10, (200,), dtype=torch.uint8)
    (order,) = reference["inputs"]({"images": 200, "batch": 30}, None)
    by_hand = [each.clone() for each in w], [each.clone() for each in b]
    *moved, losses = reference["manual_training"](
        *by_hand, x, labels, order, 0.1, compiled=lambda function: function
    )
    for number in range(STEPS):
        w, b, loss = reference["step"](w, b, x, labels, order, 0.1, number, fused=False)
        assert losses[number].item() == pytest.approx(loss.item(), rel=1e-5)
    for found, right in zip(moved, (w, b), strict=True):
        for some, others in zip(found, right, strict=True):
            assert torch.allclose(some, others, atol=1e-5)
