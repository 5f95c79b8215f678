"""What a user's file could have replaced to be timed or checked by its own rules.

It runs in the process of the harness, so that nothing is impossible for it. But what was there before
it was loaded is kept here and compared afterwards (`docs/cheating.md`).
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

_ROOT = Path(__file__).absolute().parents[1]
_CONSTANTS = (int, float, str, bytes, tuple, frozenset, type(None))
# Of others' modules: what times, waits, copies and checks.
_USED: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (time, ("clock_gettime_ns", "CLOCK_MONOTONIC_RAW")),
    (gc, ("disable", "enable", "isenabled", "collect", "freeze")),
    (sys, ("_current_frames", "getprofile", "gettrace")),
    (threading, ("enumerate", "main_thread")),
    (signal, ("getitimer",)),
    (json, ("dumps", "loads")),
    (os, ("path", "stat")),
    (Path, ("stat", "__truediv__", "is_dir")),
    (np, ("save", "load", "fromfile", "asarray", "array", "ascontiguousarray", "empty")),
    (
        np,
        (
            "frombuffer",
            "array_equal",
            "allclose",
            "isfinite",
            "abs",
            "subtract",
            "nanmax",
            "result_type",
        ),
    ),
    (torch, ("from_numpy", "empty", "empty_like", "no_grad", "inference_mode")),
    (
        torch.Tensor,
        ("clone", "contiguous", "copy_", "cpu", "data_ptr", "detach", "dtype", "is_cuda", "numel")
        + ("numpy", "shape", "stride", "to", "untyped_storage", "view"),
    ),
    (torch.cuda, ("synchronize", "current_stream", "CUDAGraph", "Event", "Stream", "graph")),
    (torch.cuda.CUDAGraph, ("replay", "capture_begin", "capture_end")),
    (torch.cuda.Event, ("record", "synchronize", "elapsed_time")),
)
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
# Those added since this process looks for them: nothing lists them, and none can be removed.
_audit_hooks: list[str] = []


class Untouched:
    """The harness as it is now, to be compared with what it is after users' code has run."""

    def __init__(self) -> None:
        sys.addaudithook(_note_audit_hook)
        _audit_hooks.clear()  # if another harness was there before
        self._kept = dict(_members())
        self._watching = _watching()
        self._threads = set(threading.enumerate())

    def replaced(self) -> str | None:
        """Return the name of what is no longer what it was; None: all is."""
        for name, found in _members():
            kept = self._kept.get(name, found)
            if len(kept) != len(found) or any(a is not b for a, b in zip(kept, found, strict=True)):
                return name
        return None

    def watched(self) -> str | None:
        """Return what now calls back into users' code while the harness runs; None: nothing."""
        return next((what for what in _watching() if what not in self._watching), None)

    def beside(self) -> str | None:
        """Return the thread or timer that can work while no clock runs; None: there is none.

        Threads of libraries that users' files import wait for work of theirs, and are no reason.
        """
        for timer in _TIMERS:
            if signal.getitimer(timer)[0] > 0:
                return "an interval timer is set"
        for thread in threading.enumerate():
            if thread in self._threads or not thread.is_alive() or _is_of_library(thread):
                continue
            return f"the thread {thread.name} runs beside it"
        return None


def _members() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield each name with its value and what that does; of modules of ours, all that do not change."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(module, ModuleType) and path and _is_ours(Path(path)):
            yield from _of(module.__name__, vars(module))
    yield from _of("builtins", vars(builtins))
    for owner, used in _USED:
        for name in used:
            if hasattr(owner, name):
                yield f"{owner.__name__}.{name}", _identity(getattr(owner, name))


def _of(place: str, names: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, value in list(names.items()):
        if isinstance(value, type) and value.__module__ == place:
            yield from _of_class(f"{place}.{name}", value)
        if callable(value) or isinstance(value, (*_CONSTANTS, staticmethod, classmethod, property)):
            yield f"{place}.{name}", _identity(value)


def _of_class(place: str, kind: type) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, value in list(vars(kind).items()):
        if callable(value) or isinstance(value, (staticmethod, classmethod, property)):
            yield f"{place}.{name}", _identity(value)


def _identity(value: Any) -> tuple[Any, ...]:
    """Return objects of which one differs if a value, or what a function does, was replaced."""
    if isinstance(value, FunctionType):
        return value, value.__code__, *(value.__defaults__ or ())
    return (value,)


def _is_ours(path: Path) -> bool:
    return path.parent.parent == _ROOT and path.parent.name.startswith("reference_")


def _note_audit_hook(event: str, _arguments: tuple[Any, ...]) -> None:
    if event == "sys.addaudithook":
        _audit_hooks.append(f"an audit hook (sys.addaudithook, {len(_audit_hooks) + 1})")


def _watching() -> list[str]:
    found = list(_audit_hooks)
    if sys.getprofile() is not None:
        found.append("a profile function (sys.setprofile)")
    if sys.gettrace() is not None:
        found.append("a trace function (sys.settrace)")
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    if monitoring is not None:
        tools = (monitoring.get_tool(i) for i in range(6))
        found += [f"a tool of sys.monitoring ({tool})" for tool in tools if tool is not None]
    for call in gc.callbacks:
        if not _is_installed(call):  # JAX, for one, has one of its own
            found.append(f"a callback of the garbage collector ({id(call):#x})")
    return found


def _is_of_library(thread: threading.Thread) -> bool:
    """Return whether a thread runs code of an installed module, or was started for it."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if _is_place_installed(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    calls = (getattr(thread, name, None) for name in ("_target", "function"))
    return any(call is not None and _is_installed(call) for call in calls)


def _is_installed(call: Any) -> bool:
    code = getattr(call, "__code__", None)
    if code is not None:
        return _is_place_installed(code.co_filename)
    module = sys.modules.get(getattr(call, "__module__", None) or "")
    return _is_place_installed(getattr(module, "__file__", None) or "")


def _is_place_installed(place: str) -> bool:
    return "/site-packages/" in place or "/dist-packages/" in place
