"""Open cases inside this process: behaviour that is not visible from outside the worker."""

import gc
import json
import math

import pytest

pytest.importorskip("torch")
import numpy as np  # noqa: E402
import operator_cases as operators  # noqa: E402
import torch  # noqa: E402
from project import bench  # noqa: E402

import protocol  # noqa: E402
from case import fill_randomly  # noqa: E402
from device import out_of_memory_reason  # noqa: E402
from operator_workload import OperatorWorkload  # noqa: E402
from outputs import difference  # noqa: E402
from session import CAPTURING, WORKLOADS, Session  # noqa: E402
from workload import CaseError  # noqa: E402


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a case of softmax."""
    operator = operators.write(tmp_path / "softmax", *operators.RIGHT["softmax"])

    def open_ok(mode="eager", *, session=None, **keys):
        opened = operators.Opened(session or Session("cpu"), operator, mode, **keys)
        assert opened.answer["status"] == "ok", opened.answer
        return opened

    return open_ok


def test_outputs_of_an_earlier_run_are_detected(opened):
    """Each run is left with other random values, so that these differ."""
    case = opened("inference").case
    y = case._forward(case._upload())
    case._forward = lambda _x: y
    with pytest.raises(CaseError, match="phased and host_to_host runs differ by up to"):
        case.output()


def test_phased_and_whole_runs_must_agree(opened):
    case = opened().case
    run = case.run
    case.run = lambda: [2 * y for y in run()]
    with pytest.raises(CaseError, match="phased and host_to_host runs differ by up to"):
        case.output()


def test_outputs_differ_by_more_than_the_tolerance_of_their_size():
    y = np.array([1, -100, np.nan], np.float16)
    assert difference(y.copy(), y, 0) is None
    near, far, elsewhere = (y.copy() for _ in range(3))
    near[0], far[0], elsewhere[1] = 1.5, 3, np.nan
    assert difference(near, y, 0.01) is None
    assert difference(near, y, math.inf) is None
    assert difference(far, y, 0.01) == 2
    assert difference(elsewhere, y, 0.01) is not None


def test_outputs_are_filled_with_numbers_that_look_like_outputs():
    y, zeros = torch.empty(150_001), torch.zeros(0)
    fill_randomly([y, zeros])
    first = y.clone()
    assert (first.abs() <= 1).all()
    assert first.std() > 0.5
    assert (first[:65536] == first[65536:131072]).all()
    fill_randomly([y.view(-1, 1), torch.tensor(1.0)])
    assert (y != first).float().mean() > 0.99, "others each time"


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.bool])
def test_outputs_of_integers_are_filled_with_small_ones(dtype):
    y = torch.full((1000,), 77, dtype=torch.uint8).to(dtype)
    fill_randomly([y])
    assert len(y.unique()) > (1 if dtype == torch.bool else 50)
    assert 0 <= y.int().min() < y.int().max() < 128


def test_outputs_are_copies(opened):
    case = opened("inference").case
    first = case.output()["y"]
    kept = first.copy()
    case.output()
    assert np.array_equal(first, kept)


def test_inputs_are_shared_and_freed_with_their_last_case(opened):
    session = Session("cpu")
    for case_id, seed in (("a", 1), ("b", 1), ("c", 2)):
        opened(session=session, id=case_id, seed=seed)
    assert len(session._inputs) == 2
    for case_id, left in (("a", 2), ("c", 1), ("b", 0)):
        assert session.handle(protocol.CloseRequest(case_id))["status"] == "ok"
        gc.collect()
        assert len(session._inputs) == left


def test_memory_is_released_with_the_last_case(opened, monkeypatch):
    released = []
    session = Session("cpu")
    monkeypatch.setattr(session._device, "release_unused", lambda: released.append(True))
    for case_id in ("a", "b"):
        opened(session=session, id=case_id)
    session.handle(protocol.CloseRequest("a"))
    assert not released
    session.handle(protocol.CloseRequest("b"))
    assert released


@pytest.mark.parametrize("name", ["mlp_infer", *(name for name in WORKLOADS if name != "allocate")])
def test_bench_knows_the_modes_and_which_need_a_gpu(tmp_path, name):
    sweep = tmp_path / "all.json"
    contender = {"engine": "pytorch", "device": ["cpu", "cuda"], "variants": ["*"]}
    sweep.write_text(
        json.dumps({"schema": 1, "name": "all", "workload": name, "contenders": [contender]})
    )
    planned = {line.split()[1] for line in bench("plan", sweep).stdout.splitlines()[:-1]}
    workload = WORKLOADS.get(name, OperatorWorkload)
    of_trainings = ["combo_graph", "manual_graph", "dataloader"]
    left_out = ["oracle"] if name in WORKLOADS else ["oracle", *of_trainings]
    modes = [mode for mode in workload.modes if mode not in left_out]
    expected = {f"pytorch-cuda/{mode}" for mode in modes}
    expected |= {f"pytorch-cpu/{mode}" for mode in modes if mode not in CAPTURING}
    assert {"/".join(case.split("/")[1:3]) for case in planned} == expected


def test_unexpected_error_is_reported_by_type_and_first_line(monkeypatch, capsys):
    def broken(*_arguments):
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr(WORKLOADS["allocate"], "open", broken)
    spec = protocol.CaseSpec("c", "allocate", "pytorch", "cpu", "caching", "f32", {"live": 1})
    answer = Session("cpu").handle(protocol.OpenRequest(spec, 1))
    reason = "ZeroDivisionError: first line"
    assert answer == {"status": "failed", "id": "c", "reason": reason}
    assert "second line" in capsys.readouterr().err, "the complete error goes to stderr"


def test_no_tf32_in_place_of_float32():
    torch.set_float32_matmul_precision("high")
    Session("cpu")
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.backends.cuda.matmul.allow_tf32 is False


def test_running_out_of_memory_is_recognised_under_other_errors():
    line = (
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB "
        "of which 1.50 GiB is free. Including non-PyTorch memory, this process has 138 GiB"
    )
    try:
        try:
            raise torch.cuda.OutOfMemoryError(line)
        except RuntimeError as cause:
            raise ValueError("the compiler gave up") from cause
    except ValueError as error:
        reason = out_of_memory_reason(error)
    shown = line[: line.index(" Including")]
    assert reason == f"does not fit into device memory: {shown}"
    assert out_of_memory_reason(MemoryError()).startswith("does not fit into host memory")
    assert out_of_memory_reason(RuntimeError("something else")) is None
