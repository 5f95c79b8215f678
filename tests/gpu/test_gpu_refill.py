"""kernels/common/refill.cu on a real GPU: the bits of the host's own fill."""

import subprocess
from pathlib import Path

import pytest
from project import ROOT, built
from test_gpu_faults import REASON
from test_operator_fill import FILLS, KINDS, bytes_of, every_dtype, spec_of, told

from operator_data import Fill

pytestmark = pytest.mark.gpu(REASON)

REFILL = 2**63 + 5
SIZES = (1, 5, 1024, 1_000_003)
DRAWN = [fill for fill in FILLS if fill.kind in KINDS[:3]]


@pytest.fixture(scope="module")
def program() -> Path:
    return built("operator_fill")


@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_the_device_and_the_host_agree_to_the_bit(program: Path, dtype: str, fill: Fill) -> None:
    lines = [told(spec_of(dtype, fill, n), number, REFILL) for number, n in enumerate(SIZES)]
    on_device = subprocess.run(
        [program, ROOT], input="".join(lines).encode(), capture_output=True, check=True, timeout=240
    ).stdout
    assert on_device == bytes_of(program, lines)
