"""kernels/common/refill.cu on a real GPU: the bits of the host's own fill."""

from pathlib import Path
from typing import Any

import pytest
from made_inputs import bytes_of, told
from project import ROOT, built
from test_gpu_faults import REASON
from test_operator_fill import DRAWN, SEED, array_of, every_dtype

pytestmark = pytest.mark.gpu(REASON)

REFILL = 2**63 + 5
SIZES = (1, 5, 1024, 1_000_003)


@pytest.fixture(scope="module")
def program() -> Path:
    return built("operator_fill")


@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_the_device_and_the_host_agree_to_the_bit(
    program: Path, dtype: str, fill: dict[str, Any]
) -> None:
    lines = [told(array_of(dtype, fill, n), SEED, number, REFILL) for number, n in enumerate(SIZES)]
    assert bytes_of(program, lines, ROOT) == bytes_of(program, lines)
