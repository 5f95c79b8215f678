"""A case's inputs as bench hands them over: a file of raw little-endian bytes for each array.

`FOLDER/0/NAME` is NAME as opened, `FOLDER/S/NAME` as refilled with seed S while a request with S is
answered (`docs/worker-protocol.md`). They are read into memory of this process's own.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workload import CaseError

Array = npt.NDArray[Any]


class InputFiles(NamedTuple):
    """The key `inputs` of `open`."""

    folder: Path
    seed: int = 0
    """That of the case, for what a device draws (`operator_fill.py`)."""

    def read(self, name: str, shape: tuple[int, ...], dtype: Any, refill: int = 0) -> Array:
        """Return an array; raises `CaseError` if its file is missing or of another size."""
        path = self.folder / str(refill) / name
        try:
            found = np.fromfile(path, dtype)
        except OSError as error:
            raise CaseError(f"{path}: cannot read an input: {error.strerror}") from error
        if found.size != math.prod(shape) or path.stat().st_size != found.nbytes:
            size = math.prod(shape) * found.itemsize
            raise CaseError(f"{path}: {path.stat().st_size} bytes, expected {size}")
        return found.reshape(shape)
