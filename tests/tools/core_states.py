#!/usr/bin/env python3
"""Show whether this machine's cores have two speeds.

A core of a virtual machine is often one hyperthread of a physical core, and the other hyperthread
may belong to another guest: while that is busy, every program on this core is slower.
A short loop is timed on each core for some seconds. Needs no GPU.
"""

import argparse
import os
import statistics
import sys
import time

STEPS, WINDOW = 300, 400  # of the loop; loops whose median is one reading, about 1 ms
SLOW = 1.4  # times the fast state, the 5th percentile


def loop_us(loops: int) -> float:
    """Return the median time of a loop that does nothing."""
    times = []
    for _ in range(loops):
        start = time.perf_counter_ns()
        for _ in range(STEPS):
            pass
        times.append((time.perf_counter_ns() - start) / 1e3)
    return statistics.median(times)


def runs_ms(readings: list[tuple[float, bool]], wanted: bool) -> list[float]:
    """Return how long the core stayed in a state, each time; readings are (seconds, is slow)."""
    runs, start = [], 0
    for i in range(1, len(readings) + 1):
        if i == len(readings) or readings[i][1] != readings[start][1]:
            if readings[start][1] == wanted:
                end = readings[min(i, len(readings) - 1)][0]
                runs.append(1e3 * (end - readings[start][0]))
            start = i
    return runs


def print_states(cores: list[int], seconds: float) -> None:
    print("| core | fast state | slow share | longest fast run | longest slow run |")
    print("|---|---|---|---|---|")
    for core in cores:
        os.sched_setaffinity(0, {core})
        readings = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            readings.append((time.monotonic(), loop_us(WINDOW)))
        fast = statistics.quantiles([us for _, us in readings], n=20)[0]
        states = [(at, us > SLOW * fast) for at, us in readings]
        share = sum(slow for _, slow in states) / len(states)
        longest = [f"{max(runs_ms(states, slow), default=0):.0f} ms" for slow in (False, True)]
        print(
            f"| {core} | {fast:.2f} µs | {100 * share:.0f} % | {' | '.join(longest)} |", flush=True
        )


def main() -> int:
    """Print a line for each core."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each core (2)")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    print_states(cores, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
