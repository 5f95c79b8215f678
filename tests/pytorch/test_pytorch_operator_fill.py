"""Inputs of operators filled on the device: the same bits as NumPy's."""

import re
import subprocess

import pytest
from conftest import needs_gpu
from project import ROOT

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from test_operator_fill import FILLS, SEED, every_dtype, spec_of  # noqa: E402

import operator_data  # noqa: E402 -- these need PyTorch
from operator_data import STAYING, STORED, filled  # noqa: E402
from operator_fill import ELEMENTS, KINDS, THREADS, Filler  # noqa: E402
from operator_tensors import DTYPES, OperatorInputs  # noqa: E402

DRAWN = [fill for fill in FILLS if fill.kind in KINDS]
KEY = 2**64 - SEED
SOURCE = ROOT / "kernels" / "common" / "refill.cu"


def test_the_launch_is_the_programs():
    threads, words = map(int, re.findall(r"(?:THREADS|WORDS) = (\d+)", SOURCE.read_text("utf-8")))
    assert (threads, threads * words) == (THREADS, ELEMENTS)


@pytest.fixture(name="filler", scope="module")
def compiled_filler(tmp_path_factory):
    cubin = tmp_path_factory.mktemp("refill") / "refill.cubin"
    subprocess.run(["nvcc", "-cubin", "-arch=native", "-o", cubin, SOURCE], check=True)
    return Filler(str(cubin))


@needs_gpu
@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_the_device_and_numpy_agree_to_the_bit(filler, dtype, fill):
    for number, n in enumerate((0, 1, 5, (1 << 20) + 5)):
        expected = filled(spec_of(dtype, fill, n), KEY, number)
        found = np.zeros(n, STORED[dtype])
        to = torch.from_numpy(found).view(DTYPES[dtype])
        filler.fill(to, dtype, fill, KEY, number)
        assert found.tobytes() == expected.tobytes()


class Recorded:
    """Fills as the host does, and says what."""

    def __init__(self):
        self.filled = []

    def fill(self, to, dtype, fill, key, number):
        self.filled.append((fill.kind, number))
        values = filled(spec_of(dtype, fill, len(to)), key, number)
        to.copy_(torch.from_numpy(values).view(to.dtype))


def test_refills_are_computed_on_the_cases_device(monkeypatch):
    kinds = ("normal", "constant", "permutation")
    specs = [spec_of("f32", next(f for f in FILLS if f.kind == kind), 1000) for kind in kinds]
    by_numpy, by_device = (operator_data.OperatorInputs(specs, SEED) for _ in "12")
    by_device.__class__ = OperatorInputs
    monkeypatch.setattr(OperatorInputs, "_take_made", lambda *_: None)
    by_device.filler = Recorded()
    by_numpy.refill(0, 7)
    by_device.refill(0, 7)
    assert by_device.filler.filled == [("normal", 0)]  # a constant stays, the host sorts
    assert "constant" in STAYING
    for a, b in zip(by_numpy.arrays, by_device.arrays, strict=True):
        assert a.tobytes() == b.tobytes()
