#!/usr/bin/env python3
"""Show which graphs have two states: those that copy in, compute and copy out by the copy engine.

In each of several new processes, CUDA graphs of copies and one empty kernel are launched and waited
for, one at a time. Prints, for each kind of graph, the time of the fast state and each process's
share of slow launches. Needs a GPU and CuPy; docs/measuring.md has a table from an H200.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

KINDS = ("k", "h2d", "d2h", "h2d+k", "k+d2h", "h2d+d2h", "h2d+k+d2h")
SLOW = 1.35  # times the fast state, the 5th percentile over all processes
UNTIMED = 100


def times_us(kind: str, launches: int) -> list[float]:
    """Return host times of launch and synchronisation, in the order taken."""
    import cupy  # only in the measuring processes

    runtime = cupy.cuda.runtime
    host, device = cupy.cuda.alloc_pinned_memory(4096), cupy.cuda.alloc(4096)
    kernel = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
    stream = cupy.cuda.Stream(non_blocking=True)
    kernel((1,), (32,), (), stream=stream)
    with stream:
        stream.begin_capture()
        for step in kind.split("+"):
            if step == "h2d":
                runtime.memcpyAsync(
                    device.ptr, host.ptr, 1024, runtime.memcpyHostToDevice, stream.ptr
                )
            elif step == "d2h":
                runtime.memcpyAsync(
                    host.ptr + 2048, device.ptr, 256, runtime.memcpyDeviceToHost, stream.ptr
                )
            else:
                kernel((1,), (32,), ())
        graph = stream.end_capture()
        times = []
        for _ in range(launches + UNTIMED):
            start = time.perf_counter_ns()
            graph.launch(stream)
            stream.synchronize()
            times.append((time.perf_counter_ns() - start) / 1e3)
    return times[UNTIMED:]


def main() -> int:
    """Start the processes, or be one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--launches", type=int, default=3000)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps({kind: times_us(kind, args.launches) for kind in KINDS}))
        return 0
    command = [sys.executable, __file__, "--measure", "--launches", str(args.launches)]
    runs = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(args.processes)
    ]
    print("| graph | fast state | slow launches, process by process |\n|---|---|---|")
    for kind in KINDS:
        fast = statistics.quantiles([time for run in runs for time in run[kind]], n=20)[0]
        shares = [sum(time > SLOW * fast for time in run[kind]) / len(run[kind]) for run in runs]
        print(
            f"| {kind} | {fast:.1f} µs | {', '.join(f'{100 * share:.0f} %' for share in shares)} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
