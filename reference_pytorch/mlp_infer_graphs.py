"""The modes of `mlp_infer` that capture CUDA graphs by hand."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from itertools import accumulate, count, pairwise
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn

from capturing import compiled
from forward import CompiledGraphForward, Forward, GraphForward
from mlp_infer_cases import Inference
from mlp_model import output_of
from needs import first_line
from refill import TILE, random_nans
from timing import now_ns
from workload import CaseError, Skip

_EQUAL_CHUNKS = 2, 16
# The output of two equal chunks, in bytes: see `equal_chunks`.
_CHUNK_SCALE_BYTES = 1 << 18
_SHRINKING_CHUNKS = 6  # at most
_LEAST_CHUNK_BYTES = 1 << 20
_CHUNK_ROWS = 1024  # all but the last are multiples, so that the compiler sees aligned memory
_POLL_MOST_NS = 1_000_000_000
_PATTERNS = 1024
_WORDS = {4: ctypes.c_uint32, 2: ctypes.c_uint16}


class Graph(GraphForward, Inference):
    """The forward pass and the run from host to host, captured in two CUDA graphs."""


class CompiledGraph(CompiledGraphForward, Graph):
    """The graphs of a forward pass that is compiled, one kernel if the layers are small."""

    def _plain(self, model: nn.Module) -> Forward:
        weights = list(model.parameters())

        def forward(x: Tensor) -> Tensor:
            return output_of(x, weights)

        return forward

    def _compile(self, function: Forward) -> None:
        for x in self._shapes():
            function(x)

    def _shapes(self) -> list[Tensor]:
        """Return an input of each shape that runs use."""
        return [self._x]


class Overlap(Graph):
    """Copies in, computation and copies out overlap: one stream each, in chunks."""

    def _prepare_buffers(self) -> None:
        super()._prepare_buffers()
        rows = self._divide(len(self._x), self._x_host.nbytes, self._y_host.nbytes)
        parts = (buffer.split(rows) for buffer in (self._x_host, self._x, self._y_host))
        self._chunks = list(zip(*parts, strict=True))
        self._copying_in, self._copying_out = torch.cuda.Stream(), torch.cuda.Stream()

    def _divide(self, rows: int, in_bytes: int, out_bytes: int) -> list[int]:
        """Return the sizes of the chunks; computation takes a good part of the time of copies."""
        return equal_chunks(rows, out_bytes)

    def _whole(self, forward: Forward) -> Sequence[Tensor]:
        computing = torch.cuda.current_stream()
        self._copying_in.wait_stream(computing)
        # All outputs are kept: the next chunk must not be computed where one is being copied from.
        outputs = []
        for x_host, x, y_host in self._chunks:
            with torch.cuda.stream(self._copying_in):
                x.copy_(x_host, non_blocking=True)
            computing.wait_stream(self._copying_in)
            outputs.append(forward(x))
            self._copying_out.wait_stream(computing)
            with torch.cuda.stream(self._copying_out):
                y_host.copy_(outputs[-1], non_blocking=True)
        computing.wait_stream(self._copying_out)
        return outputs


class CompiledOverlap(Overlap, CompiledGraph):
    """Overlapping chunks of a compiled forward pass."""

    several_shapes = True

    def _divide(self, rows: int, in_bytes: int, out_bytes: int) -> list[int]:
        """Return the sizes of the chunks; computation takes next to no time."""
        return shrinking_chunks(rows, in_bytes, out_bytes)

    def _shapes(self) -> list[Tensor]:
        return [*super()._shapes(), *(x for _, x, _ in self._chunks)]


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


class Mapped(CompiledGraph):
    """A compiled forward pass on host memory; the host polls the output."""

    def run(self) -> Tensor:
        self._polled.fill()
        return super().run()

    def _prepare_buffers(self) -> None:
        super()._prepare_buffers()
        self._copies = False
        self._x, self._y = device_view(self._x_host), device_view(self._y_host)
        self._polled = Polled(self._y_host.numpy())

    def _function(self, model: nn.Module) -> Forward:
        weights, y = list(model.parameters()), self._y

        def forward(x: Tensor) -> None:
            y.copy_(output_of(x, weights))

        function = compiled(forward, "max-autotune-no-cudagraphs")
        self._once("compile", function, self._x)

        def forward_in_place(x: Tensor) -> Tensor:
            function(x)
            return y

        return forward_in_place

    def _upload(self) -> Tensor:
        return self._x

    def _download(self, y: Tensor) -> Tensor:
        return y

    def _wait(self) -> None:
        """Poll until every output has changed, in any order."""
        start_ns = now_ns()
        for turn in count(1):
            if self._polled.is_written():
                return
            if turn % 1024 == 0 and now_ns() - start_ns > _POLL_MOST_NS:
                self._device.synchronize()
                if not self._polled.is_written():
                    raise CaseError("the kernel ended without writing every output")


def equal_chunks(rows: int, out_bytes: int) -> list[int]:
    """Return the sizes of equal chunks of a run whose output has this many bytes.

    The bus is busy with the input all the time; what follows the last copy in, one chunk's
    computation and copy out, shrinks with the number of chunks n, and n chunks have n times the cost
    of starting one. The sum of t/n and n·c is least at n = √(t/c), a power of two here.
    """
    least, most = _EQUAL_CHUNKS
    n = 2 ** round(math.log2(max(1, out_bytes / _CHUNK_SCALE_BYTES)) / 2)
    each = -(-rows // min(max(n, least), most))
    return [min(each, rows - start) for start in range(0, rows, each)]


def shrinking_chunks(rows: int, in_bytes: int, out_bytes: int) -> list[int]:
    """Return the sizes of shrinking chunks of a run with this input and output.

    The bus is busy with the larger copy all the time; what it cannot hide is the last chunk's way
    out (or the first one's way in, where the output is larger). So chunks shrink towards that end,
    as fast as the smaller copy of one still ends before the larger copy of the next: by the ratio
    of the two, less a quarter. `copy=overlapped` of our own kernels divides likewise.
    """
    larger, smaller = max(in_bytes, out_bytes), min(in_bytes, out_bytes)
    ratio = min(max(0.75 * larger / smaller, 1.25), 4)
    parts = [1.0]
    while (
        len(parts) < _SHRINKING_CHUNKS
        and larger / (sum(parts) + ratio ** len(parts)) >= _LEAST_CHUNK_BYTES
    ):
        parts.append(ratio ** len(parts))
    if in_bytes >= out_bytes:
        parts.reverse()
    ends = [
        int(rows * done / sum(parts)) // _CHUNK_ROWS * _CHUNK_ROWS for done in accumulate(parts)
    ]
    ends[-1] = rows
    return [end - start for start, end in pairwise([0, *ends]) if end > start]


def device_view(host: Tensor) -> Tensor:
    """Return pinned host memory as a tensor on the GPU, under the same (unified) address.

    PyTorch accepts foreign memory through `__cuda_array_interface__` and asks CUDA on which device
    it is; for pinned memory that is the GPU. Raises `Skip` where PyTorch does not do this.
    """
    array = host.numpy()
    # The view refers to this object, which keeps the memory.
    owner = SimpleNamespace(__cuda_array_interface__=array.__array_interface__, array=array)
    try:
        view = torch.as_tensor(owner, device="cuda")
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise Skip(f"PyTorch refuses mapped host memory: {first_line(error)}") from error
    if view.data_ptr() != host.data_ptr():
        raise Skip("PyTorch copies mapped host memory instead of using it")
    return view
