"""linreg_train through the worker: points to the bit, known trainings, reasons for what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
from linreg_data import Points  # noqa: E402 -- needs NumPy and PyTorch
from linreg_train import Eager  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "linreg.json").read_text())
FAST_MODES = ["eager", "graph"]
SLOW_MODES = ["compile", "compile_graph"]


def bits(value) -> str:
    return f"{value.numpy().view(np.uint32).item():08x}"


@pytest.mark.parametrize("known", KNOWN["data"], ids=lambda known: known["points"])
def test_points_to_the_bit(known):
    data = Points(known["points"], known["seed"])
    assert data.x_test.numel() == data.y_test.numel() == known["points"] // 5
    assert data.x_train.numel() == data.y_train.numel() == known["points"] - known["points"] // 5
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


def open_or_skip(worker, variant, *training, **keys):
    if "graph" in variant and worker.device == "cpu":
        pytest.skip("CUDA graphs need a GPU")
    answer = open_case(worker, variant, *training, **keys)
    assert answer["status"] == "ok", answer
    return answer


def check_output(worker, case_id, folder, known):
    names = ["params", "losses", *(["test_loss"] if known["test_loss"] else [])]
    answer = worker.ask("output", id=case_id, path=str(folder))
    assert answer == {"status": "ok", "id": case_id, "arrays": names}
    # Of a few points, single roundings of float32 do not average out.
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
        pytest.param(variant, known, marks=pytest.mark.slow)
        for variant in SLOW_MODES
        for known in (KNOWN["trainings"][0], KNOWN["trainings"][-1])
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value['points']}x{value['epochs']}",
)
def test_known_training_before_and_after_sampling(worker, tmp_path, variant, known):
    training = known["points"], known["epochs"], known["rate"]
    opened = open_or_skip(worker, variant, *training, seed=KNOWN["seed"])
    check_output(worker, opened["id"], tmp_path, known)
    check_samples(opened, worker.sample(opened["id"], max_samples=2, warmup_samples=1))
    check_output(worker, opened["id"], tmp_path, known)
    results = worker.ask("close", id=opened["id"])["results"]
    assert [results["w"], results["b"]] == pytest.approx(known["params"], rel=5e-6)
    epochs = [*range(0, known["epochs"], 10), known["epochs"]]
    assert [epoch for epoch, _ in results["loss"]] == epochs
    assert ("test_loss" in results) == (known["test_loss"] is not None)


def test_phases_are_those_of_the_mode_and_device(worker):
    opened = open_or_skip(worker, "eager", 50, 2)
    phases = ["init", "train", "total", "residual", "host_to_host"]
    expected = dict.fromkeys(phases, "host")
    if worker.device == "cuda":
        expected |= {"d2h": "host", "train_device": "device"}
    assert opened["phases"] == expected
    assert set(opened["once_ns"]) == {"data", "first_run"}
    worker.ask("close", id=opened["id"])


@pytest.mark.slow
def test_compile_serves_more_sizes_than_the_compiler_keeps_by_default(worker):
    ids = []
    for points in range(10, 20):
        opened = open_or_skip(worker, "compile", points, 2)
        assert opened["once_ns"]["compile"] > 0
        assert "init" not in opened["phases"]
        ids.append(opened["id"])
    for case_id in ids:
        assert worker.ask("close", id=case_id)["status"] == "ok"


@pytest.mark.parametrize("variant", FAST_MODES)
def test_a_rate_that_diverges_fails_with_the_epoch(worker, variant):
    if "graph" in variant and worker.device == "cpu":
        pytest.skip("CUDA graphs need a GPU")
    answer = open_case(worker, variant, 5000, 200, 0.05, id="c")
    reason = "loss is not finite from epoch 50 on"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


@pytest.mark.parametrize("variant", ["graph", "compile_graph"])
def test_graphs_are_skipped_without_a_gpu(worker, variant):
    if worker.device == "cuda":
        pytest.skip("this is a GPU")
    answer = open_case(worker, variant)
    assert (answer["status"], answer["reason"]) == ("skipped", "CUDA graphs need a GPU")


def test_other_dtypes_are_skipped(worker):
    answer = open_case(worker, "eager", dtype="f16")
    reason = "dtype f16: only f32 is written for PyTorch"
    assert (answer["status"], answer["reason"]) == ("skipped", reason)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"points": 0}, "params.points: expected an integer 1…2147483647, found 0"),
        ({"points": 2**31}, "params.points: expected an integer 1…2147483647, found 2147483648"),
        ({"points": True}, "params.points: expected an integer 1…2147483647, found True"),
        ({"points": 5, "epochs": 0}, "params.epochs: expected an integer 1…100000, found 0"),
        (
            {"points": 5, "epochs": 1, "rate": 0},
            "params.rate: expected a number above 0 and at most 1, found 0",
        ),
        (
            {"points": 5, "epochs": 1, "rate": "0.01"},
            "params.rate: expected a number above 0 and at most 1, found '0.01'",
        ),
        ({"batch": 3}, "params.batch: unknown; known: points, epochs, rate"),
    ],
    ids=str,
)
def test_what_is_ill_formed_fails_with_the_reason(worker, params, reason):
    answer = open_case(worker, "eager", id="c", params=params)
    assert answer == {"status": "failed", "id": "c", "reason": reason}


class ForgetsToRecord(Eager):
    """Trains, but leaves the losses of an earlier run where they are."""

    def _train(self, trainer):
        kept = self._losses.clone()
        super()._train(trainer)
        if hasattr(self, "_fit"):
            self._losses.copy_(kept)


def test_losses_of_an_earlier_run_do_not_pass_for_new_ones():
    from device import CpuDevice
    from linreg_data import Params
    from timing import no_mark

    case = ForgetsToRecord(Points(10, 1), Params(10, 20, 0.01), CpuDevice(), no_mark)
    losses = case.output()["losses"]
    assert np.isnan(losses[:-1]).all()
