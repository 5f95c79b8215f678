r"""Does an option of PyTorch's compiler make a mode faster? Medians of a case's phases with each.

    python3 tests/tools/inductor_options.py WORKLOAD MODE [NAME=VALUE…] [--dtype D] [--device cpu]
        [--seconds N] [--options NAME…]
    python3 tests/tools/inductor_options.py mlp_train compile_graph width=128,512 depth=4 \
        batch=64 epochs=1 rate=0.1 seed=1

WORKLOAD is a training that is built in. Each combination of the parameters is opened and sampled in
this process, as the compiler is set and with each option of OPTIONS, and what is chosen by timing is
chosen anew. One compilation each: run it again before you believe a difference. Triton's binaries are
built once, so the first `compile` that needs them is the longest. Times are microseconds. Nothing is
checked; what helps becomes a mode, which is.
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    str(ROOT / name) for name in ("reference_pytorch", "reference_common", "reference_described")
]

import torch._inductor.config as inductor  # noqa: E402 -- these are in the folders above

from protocol import CaseSpec, CloseRequest, OpenRequest, SampleRequest  # noqa: E402
from session import Session  # noqa: E402

OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "combo_kernels": {"combo_kernels": True},
    "benchmarked combo_kernels": {"combo_kernels": True, "benchmark_combo_kernel": True},
    "no split_reductions": {"split_reductions": False},
    "cooperative_reductions": {"triton.cooperative_reductions": True},
    "multi_kernel": {"triton.multi_kernel": 1},
    "products of the library": {"max_autotune_gemm_backends": "ATEN"},
}


def number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return float(text)


def measured(session: Session, spec: CaseSpec, seconds: float, cache: str) -> str:
    """Open, sample and close a case; return its medians, or why there are none."""
    opened = session.handle(OpenRequest(spec, seed=1, compile_cache=cache, results=False))
    if opened["status"] != "ok":
        return f"{opened['status']}: {opened['reason']}"
    taken = session.handle(SampleRequest(spec.id, round(1e9 * seconds), 1000, 3, 0))
    session.handle(CloseRequest(spec.id))
    if taken["status"] != "ok":
        return f"{taken['status']}: {taken['reason']}"
    medians = {name: median(ns) / 1e3 for name, ns in taken["phases"].items() if ns}
    compiled = opened["once_ns"].get("compile", 0) / 1e9
    return f"compile {compiled:.0f} s, " + ", ".join(f"{k} {v:.4g}" for k, v in medians.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("workload")
    parser.add_argument("mode")
    parser.add_argument("params", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--options", nargs="*", default=list(OPTIONS), choices=list(OPTIONS))
    asked = parser.parse_args()
    axes = {
        name: list(map(number, values.split(",")))
        for name, values in (p.split("=") for p in asked.params)
    }
    session = Session(asked.device)
    cases = itertools.product(itertools.product(*axes.values()), asked.options)
    with tempfile.TemporaryDirectory() as folder:
        for i, (values, name) in enumerate(cases):
            params = dict(zip(axes, values, strict=True))
            spec = CaseSpec(
                name, asked.workload, "pytorch", asked.device, asked.mode, asked.dtype, params
            )
            with inductor.patch(OPTIONS[name]):
                found = measured(session, spec, asked.seconds, f"{folder}/{i}")
            print(*(f"{k}={v}" for k, v in params.items()), f"{name}: {found}", flush=True)


if __name__ == "__main__":
    main()
