"""Cases whose run from host to host hides its copies: in overlapping chunks, or in mapped memory.

What `copy=overlapped`, and `copy=mapped` with `wait=poll`, are to our own kernels. A workload adds
which parts of its buffers a chunk has, and which memory is mapped.
"""

from __future__ import annotations

import ctypes
import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate, count
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from capturing import compiled
from chunks import equal_chunks, shrinking_chunks
from forward import CompiledGraphForward, Forward, GraphForward, listed
from needs import first_line
from refill import TILE, random_nans
from timing import now_ns
from workload import CaseError, Skip

_EQUAL_CHUNKS = 2, 16
# The output of two equal chunks, in bytes: see `count_chunks`.
_CHUNK_SCALE_BYTES = 1 << 18
_POLL_MOST_NS = 1_000_000_000
_PATTERNS = 1024
_WORDS = {4: ctypes.c_uint32, 2: ctypes.c_uint16}
# Of types that NumPy has not.
_STORED = {
    torch.bfloat16: torch.int16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
}


# ---- overlapping copies ----------------------------------------------------------------------------


class Chunk(NamedTuple):
    """Rows of a run's buffers."""

    copies: list[tuple[Tensor, Tensor]]
    """What is copied in: to the device, from host memory."""
    x: Any
    """What the forward pass takes."""
    y_host: list[Tensor]


class OverlapForward(GraphForward):
    """Copies in, computation and copies out overlap: one stream each, in chunks of rows."""

    def _prepare_buffers(self) -> None:
        super()._prepare_buffers()
        whole = self._chunk(slice(None))
        if not whole.copies:
            raise Skip("no input is copied in parts: there are no copies to overlap")
        in_bytes = sum(host.nbytes for _, host in whole.copies)
        sizes = self._divide(len(whole.y_host[0]), in_bytes, sum(y.nbytes for y in whole.y_host))
        ends = accumulate(sizes)
        self._chunks = [self._chunk(slice(e - n, e)) for n, e in zip(sizes, ends, strict=True)]
        self._copying_in, self._copying_out = torch.cuda.Stream(), torch.cuda.Stream()

    @abstractmethod
    def _chunk(self, rows: slice) -> Chunk:
        """Return these rows of the buffers."""

    def _copy_uncut(self) -> None:
        """Start to copy the inputs that every chunk needs; none in this mode."""

    def _divide(self, rows: int, _in_bytes: int, out_bytes: int) -> list[int]:
        """Return the sizes of the chunks; computation takes a good part of the time of copies."""
        return equal_chunks(rows, count_chunks(out_bytes))

    def _whole(self, forward: Forward) -> Sequence[Tensor]:
        computing = torch.cuda.current_stream()
        self._copying_in.wait_stream(computing)
        self._copy_uncut()
        # All outputs are kept: the next chunk must not be computed where one is being copied from.
        outputs: list[Tensor] = []
        for chunk in self._chunks:
            with torch.cuda.stream(self._copying_in):
                for x, host in chunk.copies:
                    x.copy_(host, non_blocking=True)
            computing.wait_stream(self._copying_in)
            y = listed(forward(chunk.x))
            outputs += y
            self._copying_out.wait_stream(computing)
            with torch.cuda.stream(self._copying_out):
                for host, part in zip(chunk.y_host, y, strict=True):
                    _expect_shape(part, host)
                    host.copy_(part, non_blocking=True)
        computing.wait_stream(self._copying_out)
        return outputs


class CompiledOverlapForward(OverlapForward, CompiledGraphForward):
    """Overlapping chunks of a compiled forward pass, which is compiled once for all sizes."""

    def _divide(self, rows: int, in_bytes: int, out_bytes: int) -> list[int]:
        """Return the sizes of the chunks; computation takes next to no time."""
        return shrinking_chunks(rows, in_bytes, out_bytes)

    def _compile(self, function: Forward) -> None:
        for chunk in self._chunks:
            for x, _ in chunk.copies if len(self._chunks) > 1 else []:
                torch._dynamo.maybe_mark_dynamic(x, 0)
            function(chunk.x)
        super()._compile(function)


def _expect_shape(part: Tensor, host: Tensor) -> None:
    if part.shape != host.shape:
        raise CaseError(
            f"output: of {len(host)} rows alone found the shape {list(part.shape)}, "
            f"expected {list(host.shape)}"
        )


def count_chunks(out_bytes: int) -> int:
    """Return the number of equal chunks of a run whose output has this many bytes.

    The bus is busy with the input all the time; what follows the last copy in, one chunk's
    computation and copy out, shrinks with the number of chunks n, and n chunks have n times the cost
    of starting one. The sum of t/n and n·c is least at n = √(t/c), a power of two here.
    """
    least, most = _EQUAL_CHUNKS
    n = 2 ** round(math.log2(max(1, out_bytes / _CHUNK_SCALE_BYTES)) / 2)
    return min(max(n, least), most)


# ---- mapped memory ---------------------------------------------------------------------------------


class Polled:
    """Output memory that the host fills with random NaNs and polls; they repeat after 1024 runs.

    A kernel that knew what marks an element as not written could end the wait early. NaNs, because
    random bits of float16 would now and then be the right value.
    """

    def __init__(self, y: np.ndarray) -> None:
        word = _WORDS[y.itemsize]
        bits = y.reshape(-1).view(word)
        whole = bits.size // TILE * TILE
        self._changed = bytearray(bits.size)
        flags = np.frombuffer(self._changed, np.bool_)
        parts = zip(_tiled(bits, whole), _tiled(flags, whole), strict=True)
        nans = random_nans(2 * TILE, y.dtype)
        # Views are made in advance: making one takes as long as filling a small output.
        self._parts = [
            (part, flag, [nans[first : first + part.shape[-1]] for first in range(_PATTERNS)])
            for part, flag in parts
            if part.size > 0
        ]
        self._pattern = 0
        self._last = word.from_buffer(bits[-1:])
        self.fill()

    def fill(self) -> None:
        """Mark all elements as not written."""
        self._pattern = (self._pattern + 1) % _PATTERNS
        for part, _, patterns in self._parts:
            part[...] = patterns[self._pattern]
        self._last_nan = self._last.value

    def is_written(self) -> bool:
        """Return whether every element has changed since."""
        # The last element first: looking at one is faster than looking at all.
        if self._last.value == self._last_nan:
            return False
        for part, flags, patterns in self._parts:
            np.not_equal(part, patterns[self._pattern], out=flags)
        return 0 not in self._changed


def _tiled(array: np.ndarray, whole: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whole tiles, as rows, and the rest."""
    return array[:whole].reshape(-1, TILE), array[whole:]


class MappedForward(CompiledGraphForward):
    """A compiled forward pass on host memory; the host polls the outputs."""

    def run(self) -> Any:
        for polled in self._polled:
            polled.fill()
        return super().run()

    def _prepare_buffers(self) -> None:
        super()._prepare_buffers()
        self._copies = False
        self._x, self._y = self._mapped()
        self._polled = [Polled(y.numpy()) for y in listed(self._y_host)]

    @abstractmethod
    def _mapped(self) -> tuple[Any, Any]:
        """Return what the forward pass takes, and what it returns, in mapped memory."""

    def _function(self, model: Any) -> Forward:
        compute, y, outputs = self._plain(model), self._y, listed(self._y)

        def forward(x: Any) -> None:
            for i, part in enumerate(listed(compute(x))):
                outputs[i].copy_(part)

        function = compiled(forward, "max-autotune-no-cudagraphs")
        self._once("compile", function, self._x)

        def forward_in_place(x: Any) -> Any:
            function(x)
            return y

        return forward_in_place

    def _upload(self) -> Any:
        return self._x

    def _download(self, y: Any) -> Any:
        return y

    def _wait(self) -> None:
        """Poll until every element of every output has changed, in any order."""
        for polled in self._polled:
            self._poll(polled)

    def _poll(self, polled: Polled) -> None:
        start_ns = now_ns()
        for turn in count(1):
            if polled.is_written():
                return
            if turn % 1024 == 0 and now_ns() - start_ns > _POLL_MOST_NS:
                self._device.synchronize()
                if not polled.is_written():
                    raise CaseError("the kernel ended without writing every output")


def device_view(host: Tensor) -> Tensor:
    """Return pinned host memory as a tensor on the GPU, under the same (unified) address.

    PyTorch accepts foreign memory through `__cuda_array_interface__` and asks CUDA on which device
    it is; for pinned memory that is the GPU. Raises `Skip` where PyTorch does not do this.
    """
    array = host.view(_STORED.get(host.dtype, host.dtype)).numpy()
    # The view refers to this object, which keeps the memory.
    owner = SimpleNamespace(__cuda_array_interface__=array.__array_interface__, array=array)
    try:
        view = torch.as_tensor(owner, device="cuda")
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise Skip(f"PyTorch refuses mapped host memory: {first_line(error)}") from error
    if view.data_ptr() != host.data_ptr():
        raise Skip("PyTorch copies mapped host memory instead of using it")
    return view.view(host.dtype)
