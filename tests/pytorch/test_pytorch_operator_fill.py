"""Inputs of operators filled by PyTorch: the same bits as NumPy's and, with a GPU, on the device."""

from __future__ import annotations

import pytest
from conftest import needs_gpu

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from test_operator_fill import FILLS, SEED, every_dtype, spec_of  # noqa: E402

import operator_fill  # noqa: E402 -- these need PyTorch
import operator_tensors  # noqa: E402
from operator_data import STAYING, STORED, filled  # noqa: E402
from operator_fill import CHUNK, fill_by  # noqa: E402
from operator_tensors import DTYPES, OperatorInputs  # noqa: E402

CPU = torch.device("cpu")
DRAWN = [fill for fill in FILLS if fill.kind not in STAYING]
KEY = 2**64 - SEED
SMALL = 4096
every_fill = pytest.mark.parametrize("fill", DRAWN, ids=str)


def expect_same_bits(device, dtype, fill, *sizes, chunk):
    for number, n in enumerate(sizes):
        expected = filled(spec_of(dtype, fill, n), KEY, number)
        found = np.zeros(n, STORED[dtype])
        to = torch.from_numpy(found).view(DTYPES[dtype])
        fill_by(device, to, fill, KEY, number, chunk)
        assert found.tobytes() == expected.tobytes()


@every_dtype
@every_fill
def test_pytorch_and_numpy_agree_to_the_bit(monkeypatch, dtype, fill):
    monkeypatch.setattr(operator_fill, "root", lambda x: torch.from_numpy(np.sqrt(x.numpy())))
    expect_same_bits(CPU, dtype, fill, 0, 1, 5, SMALL, 2 * SMALL + 3, chunk=SMALL)


@needs_gpu
@every_dtype
@every_fill
def test_the_device_and_numpy_agree_to_the_bit(dtype, fill):
    expect_same_bits(torch.device("cuda"), dtype, fill, 1, CHUNK + 5, chunk=CHUNK)


def test_refills_are_computed_on_the_cases_device(monkeypatch):
    specs = [spec_of("bf16", fill, 3, 1000) for fill in (FILLS[3], FILLS[-2])]
    by_numpy, by_device = (operator_tensors.operator_data.OperatorInputs(specs, SEED) for _ in "12")
    by_device.__class__ = OperatorInputs
    monkeypatch.setattr(OperatorInputs, "_take_made", lambda *_: None)
    devices = []
    monkeypatch.setattr(
        operator_tensors,
        "fill_by",
        lambda device, *rest: (devices.append(device), fill_by(CPU, *rest)),
    )
    by_device.filled_on = torch.device("cuda")
    by_numpy.refill(0, 7)
    by_device.refill(0, 7)
    assert devices == [torch.device("cuda")]  # the constant stays
    for a, b in zip(by_numpy.arrays, by_device.arrays, strict=True):
        assert a.tobytes() == b.tobytes()
