"""Helpers for PyTorch's compiler and CUDA graphs."""

from __future__ import annotations

import gc
import hashlib
import importlib
import itertools
import math
import os
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

import turns
from timing import no_garbage_collection
from workload import Skip

# In the environment where each core has a process that compiles.
_ONE_THREAD = "BENCH_COMPILES_ON_ONE_THREAD"

_COPIES = itertools.count(1)

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _load_compiler() -> None:
    """Import the compiler, and spare its modules every later garbage collection.

    PyTorch collects garbage before each capture; with the compiler's half a million objects that
    took 0.2 s.
    """
    importlib.import_module("torch._inductor.compile_fx")
    gc.collect()
    gc.freeze()


def compiled(
    function: Function, mode: str, *, dynamic: bool | None = False, **options: bool
) -> Function:
    """Return the function compiled by `torch.compile` as one graph, of static shapes.

    `dynamic` None: what changes from call to call is dynamic, such as an integer.

    `options` are the compiler's, besides those of the mode; raises `Skip` if it does not know one.
    PyTorch caches compiled code by code object and gives up after eight entries; a sweep over sizes
    needs more. So compile a copy that has a new code object. It has a name of its own, too: with
    `dynamic` None, a size that is new to code of the same file, line and name becomes dynamic.
    """
    assert isinstance(function, types.FunctionType)
    _load_compiler()
    name = f"{function.__name__}_{next(_COPIES)}"
    copy = types.FunctionType(
        function.__code__.replace(co_name=name),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    if not options:
        return torch.compile(copy, mode=mode, fullgraph=True, dynamic=dynamic)
    if unknown := set(options) - set(torch._inductor.list_options()):
        names = ", ".join(sorted(unknown))
        raise Skip(f"the compiler of PyTorch {torch.__version__} has no option {names}")
    settings = {**torch._inductor.list_mode_options(mode), **options}
    return torch.compile(copy, options=settings, fullgraph=True, dynamic=dynamic)


def use_compile_cache(folder: str, *, is_compiled: bool, size: str = "") -> None:
    """Have the compiler read and keep generated code and tuning results in this folder.

    Each `size` has a part of it: code with a dynamic shape would be tuned for the first alone.
    Triton's binaries are kept beside it, for all draws and cases: the same source gives the same
    binary, so a later draw times all candidates anew without building them anew. A case that another
    process has compiled is only loaded: no processes that compile are started then, one per core.
    """
    from torch._inductor import config, utils  # takes seconds to import

    threads = _compile_threads()
    config.compile_threads = 1 if is_compiled or _ONE_THREAD in os.environ else threads
    shared = _without_spaces(os.path.dirname(folder))
    parts = [os.path.basename(folder)]
    parts += [hashlib.sha256(size.encode()).hexdigest()[:16]] if size else []
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(shared, *parts)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(shared, "triton")
    _keep_vector_checks(shared)
    from_2_8 = getattr(utils, "clear_caches", None)
    (from_2_8 or utils.clear_inductor_caches)()  # those in memory


@cache
def tunes_in_turns() -> bool:
    """Have the compiler time candidates while no other process does; return whether it can be had."""
    try:
        from torch._inductor.runtime import benchmarking
    except ImportError:  # before PyTorch 2.6
        return False
    kinds = [kind for kind in vars(benchmarking).values() if isinstance(kind, type)]
    for kind in kinds:
        for name in ("benchmark_gpu", "benchmark_gpu_with_cuda_graph"):
            if name in vars(kind):
                setattr(kind, name, turns.in_turn(vars(kind)[name]))
    return any("benchmark_gpu" in vars(kind) for kind in kinds)


@cache
def _compile_threads() -> int:
    """Return how many the compiler would use."""
    from torch._inductor import config

    return config.compile_threads


@cache
def _without_spaces(folder: str) -> str:
    """Return a link to a folder with a space: PyTorch splits its compiler's command there."""
    if " " not in folder:
        return folder
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(tempfile.mkdtemp(dir=os.environ.get("BENCH_SCRATCH")), "compiled")
    os.symlink(folder, link)
    return link


@cache
def _keep_vector_checks(folder: str) -> None:
    """Have the compiler keep in a folder which vector instructions programs may use.

    Before its first compilation for a CPU, each process builds programs for those that the CPU has, and
    loads them in new Pythons. Up to PyTorch 2.11 these import PyTorch, which can take longer than the
    compilation. What the same compiler once built with the same options is not tried again; what
    failed is.
    """
    try:
        # The compiler's version, PyTorch's, and options.
        from torch._inductor.cpu_vec_isa import VecISA, _get_isa_dry_compile_fingerprint
    except ImportError:  # before 2.5
        return
    check = VecISA.check_build

    def check_build(self: VecISA, code: str) -> bool:
        compiler = _get_isa_dry_compile_fingerprint(self.build_arch_flags())
        key = "\n".join((str(self), compiler, code))
        built = Path(folder, f"vector-{hashlib.sha256(key.encode()).hexdigest()}")
        if not built.exists():
            if not check(self, code):
                return False
            built.touch()
        return True

    VecISA.check_build = check_build


def run_on_side_stream(work: Callable[[], Any], steps: int = 1) -> None:
    """Run work before its capture, so that libraries initialise themselves outside the graph.

    PyTorch's notes on CUDA graphs require a side stream, and run it three times. Work of so many equal
    `steps` does each of them in one run.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(math.ceil(3 / max(1, steps))):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


class Captured(Generic[T]):
    """Work captured in a CUDA graph.

    A graph holds addresses, not references. `work` keeps alive the tensors that it names; the
    graph's private pool keeps what it allocated. Replays refill `result`, which work returned.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._graph = torch.cuda.CUDAGraph()
        # Garbage may hold graphs and events, which must not be destroyed during a capture.
        gc.collect()
        with _own_workspaces(), no_garbage_collection(), torch.cuda.graph(self._graph):
            self.result = work()
        self.replay: Callable[[], None] = self._graph.replay


def capture(work: Callable[[], T]) -> Captured[T]:
    """Capture work, which must have run before (`run_on_side_stream`)."""
    return Captured(work)


def leave_capture(stream: torch.cuda.Stream) -> None:
    """Return to a stream after a capture that failed, and leave the process usable for other cases.

    PyTorch stays on the stream of a capture that it could not end. A kernel that was launched
    meanwhile may have left an error, which the next launch would report; and the random generator is
    of no use until a capture, any one, has ended.
    """
    torch.cuda.set_stream(stream)
    for _ in range(2):
        with suppress(RuntimeError):
            torch.ones(1, device="cuda")
            torch.cuda.synchronize()
    one = torch.ones(1, device="cuda")
    with suppress(RuntimeError), torch.cuda.graph(torch.cuda.CUDAGraph()):
        one.add_(1)
    torch.cuda.set_stream(stream)


@contextmanager
def _own_workspaces() -> Iterator[None]:
    """Have cuBLAS allocate its workspaces in the graph that is captured, and nowhere else.

    PyTorch keeps one workspace per handle and stream. All graphs are captured on one stream, so a
    graph would use the workspace in the pool of an older one. The compiler's CUDA graphs free all
    workspaces, and so does, in newer versions, the end of any graph (pytorch/pytorch#193402). The
    compiler clears the list around its own captures in the same way (`clear_cublas_manager`).
    """
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()
