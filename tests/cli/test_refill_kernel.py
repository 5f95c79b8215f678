"""kernels/common/refill.cu, compiled for the host: the same bits as the host's own fill."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_kernels import kernels_for_host, library_of
from made_inputs import bytes_of, told
from project import built
from test_operator_fill import DRAWN, SEED, array_of, every_dtype

from operator_data import STORED
from operator_fill import arguments_of, fill_key
from operator_request import Fill

THREADS, WORDS = 256, 4
REFILL = 2**63 + 5
# Less than a block of words, less than a block of threads, and more.
SIZES = (1, 5, 1023, 1024, 9001)


@pytest.fixture(scope="module")
def program() -> Path:
    return built("operator_fill")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("refill")
    kernels = kernels_for_host(folder)
    program = folder / "refill.cc"
    program.write_text(
        f'#include "emulation/host_cuda.h"\n{(kernels / "common" / "refill.cu").read_text("utf-8")}\n'
        'extern "C" void launch_refill(void **arguments, unsigned grid) '
        "{ launch_on_host(refill, arguments, grid, THREADS, 1); }\n",
        encoding="utf-8",
    )
    return library_of(program, [kernels, kernels / "common"], {})


def launch(kernel: ctypes.CDLL, array: Any, told: tuple[Any, ...], differs: int = 0) -> None:
    """Have it fill the array but for its last element; or compare that with it, at an address."""
    n = len(array) - 1
    number, dtype, fill = told
    at, key = array.ctypes.data, fill_key(SEED, REFILL)
    values = arguments_of(at, n, key, number, dtype, Fill(**fill), differs)
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    kernel.launch_refill(pointers, -(-n // (THREADS * WORDS)))


@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_the_kernel_and_the_host_agree_to_the_bit(
    kernel: ctypes.CDLL, program: Path, dtype: str, fill: dict[str, Any]
) -> None:
    found, lines = b"", []
    for number, n in enumerate(SIZES):
        array = np.full(n + 1, 1, STORED[dtype])
        launch(kernel, array, (number, dtype, fill))
        assert array[n] == 1, "nothing is written past the end"
        found += array[:n].tobytes()
        lines.append(told(array_of(dtype, fill, n), SEED, number, REFILL))
    assert found == bytes_of(program, lines)


@every_dtype
@pytest.mark.parametrize("fill", DRAWN, ids=str)
def test_one_bit_that_is_another_is_found(
    kernel: ctypes.CDLL, dtype: str, fill: dict[str, Any]
) -> None:
    n = 1023
    array = np.full(n + 1, 1, STORED[dtype])
    launch(kernel, array, (0, dtype, fill))
    for changed in (None, 0, array.itemsize * n - 1):
        differs = ctypes.c_uint(0)
        if changed is not None:
            array.view(np.uint8)[changed] ^= 1
        before = array.tobytes()
        launch(kernel, array, (0, dtype, fill), ctypes.addressof(differs))
        assert differs.value == (changed is not None)
        assert array.tobytes() == before, "nothing is written"
        if changed is not None:
            array.view(np.uint8)[changed] ^= 1
