"""Refills of described workloads on a GPU: what the device draws, and what files have."""

import re

import made_inputs
import pytest
from conftest import needs_gpu
from made_inputs import bytes_of, program_of_inputs, told
from project import ROOT, ran

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from test_operator_fill import DRAWN, FILLS, SEED, array_of, every_dtype, spec_of  # noqa: E402

from input_files import InputFiles  # noqa: E402 -- these need PyTorch
from operator_fill import ELEMENTS, THREADS, Filler, fill_key  # noqa: E402
from operator_request import Fill, Operator  # noqa: E402
from operator_tensors import DTYPES, OperatorInputs  # noqa: E402
from protocol import CaseSpec  # noqa: E402

REFILL = 2**63 + 5
SOURCE = ROOT / "kernels" / "common" / "refill.cu"


def test_the_launch_is_the_programs():
    threads, words = map(int, re.findall(r"(?:THREADS|WORDS) = (\d+)", SOURCE.read_text("utf-8")))
    assert (threads, threads * words) == (THREADS, ELEMENTS)


# The unit test of fill.c has the same numbers.
def test_keys_to_the_bit():
    assert fill_key(42, 7) == fill_key(7, 42) == 0xF7E9F3F88CC04AD6
    assert fill_key(0x123456789ABCDEF0, 2**63) == 0xD4049834520EDA4F


@pytest.fixture(name="filler", scope="module")
def compiled_filler(tmp_path_factory):
    cubin = tmp_path_factory.mktemp("refill") / "refill.cubin"
    ran("nvcc", "-cubin", "-arch=native", "-o", cubin, SOURCE)
    return Filler(str(cubin))


@needs_gpu
@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_the_device_and_c_agree_to_the_bit(filler, dtype, fill):
    for number, n in enumerate((0, 1, 5, (1 << 20) + 5)):
        line = told(array_of(dtype, fill, n), SEED, number, REFILL)
        found = filler.draw((n,), dtype, Fill(**fill), fill_key(SEED, REFILL), number)
        assert found.view(DTYPES[dtype]).numel() == n
        assert found.cpu().numpy().tobytes() == bytes_of(program_of_inputs(), [line])


class Recorded:
    """Draws ones, and says what."""

    def __init__(self):
        self.drawn = []

    def draw(self, shape, dtype, fill, key, number):
        self.drawn.append((fill.kind, key, number))
        return torch.ones(shape).view(torch.int32)


def test_the_device_draws_and_files_have_the_rest(tmp_path):
    fills = {fill["kind"]: fill for fill in FILLS}
    kinds = ("normal", "constant", "permutation")
    arrays = [array_of("f32", fills[kind], 1000, name=kind) for kind in kinds]
    operator = Operator("", "", "x", tuple(map(spec_of, arrays)), {"T": "f32"})
    spec = CaseSpec("x", "x", "pytorch", "cuda", "eager", "f32", {}, {})
    files = InputFiles(made_inputs.make(tmp_path, arrays, SEED), SEED)
    inputs = OperatorInputs(operator, spec, files)
    constant = inputs.arrays[1].copy()
    made_inputs.make(tmp_path, arrays, SEED, 7)
    for kind in ("normal", "constant"):
        (tmp_path / "7" / kind).unlink()
    opened = [array.copy() for array in inputs.arrays]
    inputs.filler = Recorded()
    own = inputs.own()
    own.refill(7)
    assert inputs.filler.drawn == [("normal", fill_key(SEED, 7), 0)]
    assert all(np.array_equal(*pair) for pair in zip(inputs.arrays, opened, strict=True))
    assert (own.tensors()[0] == 1).all()
    assert (own.sources()[0] == 1).all()
    assert np.array_equal(own.arrays[1], constant)
    assert own.arrays[2].tobytes() == (tmp_path / "7" / "permutation").read_bytes()
    # Others are of no refill.
    assert np.array_equal(own.others().tensors()[0].numpy(), np.roll(opened[0], 1))
