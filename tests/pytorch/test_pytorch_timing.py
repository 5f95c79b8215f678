"""The sample loop and the phase clock, tested by counts and not by durations."""

import gc
import time

import pytest

from timing import Fresh, Limits, PhaseClock, Sample, now_ns, take_round

LONG_NS = 3_600_000_000_000


class CountingProbe:
    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.runs = 0

    def __call__(self) -> Sample:
        self.runs += 1
        return Sample({self.phase: self.runs})


WARM = {"warmup_samples": 1}
UNSEEN = Fresh(lambda: None, lambda _ns: None)


def round_of(*probes, fresh=None, **given):
    limits = {"budget_ns": LONG_NS, "max_samples": 4, "warmup_samples": 0, "warmup_ns": 0}
    return take_round(probes, Limits(**{**limits, **given}), fresh)


def test_no_budget_still_gives_one_sample_of_each_phase():
    taken = round_of(CountingProbe("a"), CountingProbe("b"), budget_ns=0)
    assert taken.phases == {"a": [1], "b": [1]}
    assert (taken.warmup_samples, taken.warmup_ns) == (0, 0)


def test_max_samples_of_0_still_gives_one():
    assert round_of(CountingProbe("a"), max_samples=0).phases == {"a": [1]}


def test_max_samples_ends_a_round():
    assert round_of(CountingProbe("a"), max_samples=7).phases == {"a": [1, 2, 3, 4, 5, 6, 7]}


def test_the_sample_with_new_inputs_is_the_last_of_each_phase():
    seen = []
    a, b = CountingProbe("a"), CountingProbe("b")
    taken = round_of(
        *(a, b),
        max_samples=1,
        warmup_samples=2,
        fresh=Fresh(lambda: seen.append((a.runs, b.runs)), seen.append),
    )
    assert taken.phases == {"a": [3, 4], "b": [3, 4]}
    assert seen == [(3, 0), {"a": 4}, (4, 3), {"b": 4}], "new inputs come after all other samples"


def test_the_number_of_samples_before_new_inputs_is_not_known():
    """A round of at most 7 has 4 … 7 of them, and one with new inputs."""
    numbers = {
        len(round_of(CountingProbe("a"), **WARM, max_samples=7, fresh=UNSEEN).phases["a"])
        for _ in range(200)
    }
    assert numbers == {5, 6, 7, 8}


@pytest.mark.parametrize("limits", [{"warmup_samples": 0}, {"warmup_samples": 1, "budget_ns": 0}])
def test_without_time_for_two_the_one_with_new_inputs_is_the_only_one(limits):
    probe = CountingProbe("a")
    seen = []
    fresh = Fresh(lambda: seen.append(probe.runs), lambda _ns: None)
    taken = round_of(probe, **limits, max_samples=7, fresh=fresh)
    warm = limits["warmup_samples"]
    assert taken.phases == {"a": [warm + 1]}
    assert seen == [warm]


def test_warm_up_is_counted_but_gives_no_samples():
    taken = round_of(CountingProbe("a"), CountingProbe("b"), warmup_samples=3, max_samples=2)
    assert taken.phases == {"a": [4, 5], "b": [4, 5]}
    assert taken.warmup_samples == 6
    assert taken.warmup_ns > 0


def test_warm_up_lasts_as_long_as_asked():
    taken = round_of(CountingProbe("a"), CountingProbe("b"), warmup_ns=2_000_001)
    assert taken.warmup_ns >= 2_000_001
    assert taken.warmup_samples == taken.phases["a"][0] + taken.phases["b"][0] - 2


def test_the_budget_ends_a_round():
    def probe() -> Sample:
        time.sleep(0.002)  # mood: longer ends the round, too
        return Sample({"a": 1})

    taken = round_of(probe, budget_ns=1_000_000, max_samples=1_000_000)
    assert taken.phases == {"a": [1]}


def testno_garbage_collection_inside_a_round_even_after_an_error():
    seen = []

    def probe() -> Sample:
        seen.append(gc.isenabled())
        if len(seen) == 2:
            raise RuntimeError("broken probe")
        return Sample({"a": 1})

    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="broken probe"):
        round_of(probe)
    assert seen == [False, False]
    assert gc.isenabled()


def test_phases_and_residual_add_up_to_the_total():
    waits = []
    clock = PhaseClock(lambda: waits.append(now_ns()))
    assert clock.time("first", lambda a, b: a + b, 1, 2) == 3
    time.sleep(0.001)  # mood: what it takes at least is asserted, as below
    clock.time("second", time.sleep, 0.001)
    ns = clock.finish()
    assert list(ns) == ["first", "second", "total", "residual"]
    assert ns["total"] == ns["first"] + ns["second"] + ns["residual"]
    assert ns["second"] >= 1_000_000
    assert ns["residual"] >= 1_000_000, "time between the phases is part of the total"
    assert len(waits) == 3, "one wait before the first phase, one at the end of each"


def test_waiting_for_the_device_is_part_of_the_phase():
    clock = PhaseClock(lambda: time.sleep(0.001))  # mood: it takes that long at least
    clock.time("launch", lambda: None)
    assert clock.finish()["launch"] >= 1_000_000
