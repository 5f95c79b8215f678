"""Clocks and the sample loop; independent of PyTorch and of workloads."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
# Returns a context that a profiler shows under the given name.
Mark = Callable[[str], AbstractContextManager[Any]]


class Sample(NamedTuple):
    """One run of a probe: nanoseconds by phase, and what the run computed (or None)."""

    ns: Mapping[str, float]
    output: Any = None


# A probe runs the case once and times it. Phases that would disturb each other, such as
# synchronised ones and the run without synchronisation, belong to different probes.
Probe = Callable[[], Sample]


class Limits(NamedTuple):
    """How long a round warms up and samples, as the request says."""

    budget_ns: int
    max_samples: int
    warmup_samples: int
    warmup_ns: int


class Fresh(NamedTuple):
    """What makes a sample one whose inputs and buffers no run has seen."""

    prepare: Callable[[], None]
    """Gives the next run new inputs, and random values where it writes."""
    keep: Callable[[Mapping[str, float]], None]
    """Called with the sample's times as soon as it is taken, to keep what it left."""
    changing: Callable[[Mapping[str, float]], Mapping[str, float]] = lambda _ns: {}
    """Called with them after that: returns those times that differ where inputs change before each
    of many runs, to be taken for the sample's."""


class Round(NamedTuple):
    """The samples of one round."""

    phases: dict[str, list[float]]
    warmup_samples: int
    warmup_ns: int


def now_ns() -> int:
    """Read the host clock: not adjusted by NTP, and the same clock that the C side reads."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def no_mark(_name: str) -> AbstractContextManager[Any]:
    """Mark nothing: no profiler is active."""
    return nullcontext()


class PhaseClock:
    """Times the phases of one sample on the host; a synchronisation ends each phase.

    `total` has its own clock readings, so time between phases shows up as `residual`.
    """

    def __init__(self, synchronize: Callable[[], None], mark: Mark = no_mark) -> None:
        self._synchronize = synchronize
        self._mark = mark
        self._ns: dict[str, int] = {}
        synchronize()
        self._began_ns = now_ns()

    def time(self, phase: str, work: Callable[..., T], *arguments: Any) -> T:
        """Return `work(*arguments)`, timed as one phase."""
        with self._mark(phase):
            start_ns = now_ns()
            result = work(*arguments)
            self._synchronize()
            self._ns[phase] = now_ns() - start_ns
        return result

    def finish(self) -> dict[str, int]:
        """Return all phases, `total` and `residual`."""
        total_ns = now_ns() - self._began_ns
        residual_ns = total_ns - sum(self._ns.values())
        return {**self._ns, "total": total_ns, "residual": residual_ns}


def take_round(
    probes: Sequence[Probe],
    limits: Limits,
    fresh: Fresh | None = None,
) -> Round:
    """Sample every probe: untimed runs first, then timed ones until its share is used up.

    Probes share the budget and the warm-up time evenly and run one after another, so that a probe's
    samples follow its own runs. Each takes at least one and at most `max_samples` samples. With
    `fresh` it takes another one after that, which is part of the budget: without time for two it is
    the only one.
    """
    phases: dict[str, list[float]] = {}
    warmed, warmed_ns = 0, 0
    share = len(probes)
    with no_garbage_collection():
        for probe in probes:
            warm = _warm_up(probe, limits.warmup_samples, -(-limits.warmup_ns // share))
            warmed += warm.runs
            warmed_ns += warm.spent_ns
            budget_ns = limits.budget_ns // share
            if fresh is None:
                _sample(probe, limits.max_samples, now_ns() + budget_ns, phases)
                continue
            # A number that no run can know, so that none counts to the sample that is checked.
            most = limits.max_samples - random.SystemRandom().randrange(4)
            is_only = warm.runs == 0 or 2 * warm.last_ns > budget_ns
            if not is_only:
                _sample(probe, most, now_ns() + budget_ns - 2 * warm.last_ns, phases)
            fresh.prepare()
            ns = probe().ns
            fresh.keep(ns)
            changed = fresh.changing(ns)
            if is_only and changed:
                _append(phases, ns)
            _append(phases, {**ns, **changed})
    return Round(phases, warmed, warmed_ns)


def _sample(probe: Probe, most: int, deadline_ns: int, phases: dict[str, list[float]]) -> None:
    for _ in range(max(1, most)):
        # Drop the run's output at once, so that the next run can reuse its memory.
        _append(phases, probe().ns)
        if now_ns() >= deadline_ns:
            break


def _append(phases: dict[str, list[float]], ns: Mapping[str, float]) -> None:
    for phase, value in ns.items():
        phases.setdefault(phase, []).append(value)


class _WarmUp(NamedTuple):
    runs: int
    spent_ns: int
    last_ns: int
    """How long the last run took."""


def _warm_up(probe: Probe, at_least: int, at_least_ns: int) -> _WarmUp:
    n, spent_ns, last_ns = 0, 0, 0
    start_ns = now_ns()
    while n < at_least or spent_ns < at_least_ns:
        probe()
        n += 1
        before_ns = spent_ns
        spent_ns = now_ns() - start_ns
        last_ns = spent_ns - before_ns
    return _WarmUp(n, spent_ns, last_ns)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python's cycle collector out of the samples, as `timeit` does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
