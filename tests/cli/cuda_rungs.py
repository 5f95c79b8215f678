"""A fake GPU that runs CUDA rungs which a real compiler compiles: their kernels are in C."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

from fake_driver import build_driver
from host_kernels import kernels_for_host, library_of
from operator_folders import run_operator
from project import FIXTURES, compiler_options, ran

Cases = dict[str, dict[str, Any]]

HEAD = '#include "common/workload.cuh"\n'
TWICE_IN_C = """
    static void run_twice(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        if (AT(void *, 2) != 0)
            note("a workspace that the rung did not ask for");
        for (long long i = 0; i < AT(long long, 3); i++)
            AT(float *, 1)[i] = 2 * AT(const float *, 0)[i];
    }
    static double no_ns; /* whatever the machine does, it takes the time of the least work */
    const kernel_t twice = {"twice", .argument_bytes = {8, 8, 8, 8}, .n_arguments = 4,
                            .run = run_twice, .spent_ns = &no_ns};
    /* As one that reads four elements at a time. */
    static void run_aligned(const kernel_t *kernel, void *const *arguments) {
        if (AT(unsigned long long, 0) % 16 == 0 && AT(unsigned long long, 1) % 16 == 0)
            run_twice(kernel, arguments);
    }
    const kernel_t aligned = {"aligned", .argument_bytes = {8, 8, 8, 8}, .n_arguments = 4,
                              .run = run_aligned};
    """
IN_C = """
    #include "kernels.h"
    #include <stdbool.h>
    #include <stdio.h>
    #include <stdlib.h>
    #define AT(type, i) (*(type *)arguments[i])
    static void note(const char *what) {
        FILE *file = fopen(getenv("FAKE_LAUNCHES"), "a");
        fprintf(file, "%s\\n", what);
        fclose(file);
    }
    /* The program that fills inputs; each launch is noted. */
    extern void refill_on_host(void *const *arguments);
    static void run_refill(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        refill_on_host(arguments);
    }
    const kernel_t refill = {.name = "refill", .argument_bytes = {8, 8, 8, 4, 4, 56, 8},
                             .n_arguments = 7, .run = run_refill};
    """


def refill_on_host(folder: Path) -> Path:
    """Return a library with kernels/common/refill.cu, compiled for the host."""
    kernels = kernels_for_host(folder)
    source = (kernels / "common" / "refill.cu").read_text("utf-8")
    program = folder / "refill.cc"
    program.write_text(
        f'#include "emulation/host_cuda.h"\n#define refill refill_kernel\n{source}\n'
        'extern "C" void refill_on_host(void **arguments) {\n'
        "unsigned long long n = *(unsigned long long *)arguments[1], a_block = THREADS * WORDS;\n"
        "launch_on_host(refill_kernel, arguments, (n + a_block - 1) / a_block, THREADS, 1); }\n",
        encoding="utf-8",
    )
    return Path(library_of(program, [kernels, kernels / "common"], {})._name)


GOOD = '{{"twice", {"n"}, {"1"}}}'


def rung(launches: str = GOOD, entry: str = "twice") -> str:
    """Return a rung that doubles with these launches."""
    lines = [f"LAUNCHES = {launches};", f"KERNEL({entry}) {{ y[0] = 2 * x[0]; }}"]
    return HEAD + "\n".join(lines) + "\n"


class Gpu:
    """The fake GPU with the kernels above."""

    def __init__(self, folder: Path, *flags: str, more_in_c: str = "") -> None:
        compiler_options()
        folder.mkdir(parents=True, exist_ok=True)
        library, source = folder / "rungs.so", folder / "rungs.c"
        source.write_text(IN_C + TWICE_IN_C + more_in_c, encoding="utf-8")
        command = [shutil.which("cc") or "gcc", "-shared", "-fPIC", f"-I{FIXTURES}/fakes"]
        refill = refill_on_host(folder)
        paths = [str(path) for path in (library, source, refill)]
        ran(*command, "-o", *paths, f"-Wl,-rpath,{refill.parent}")
        self.launched, self._state = folder / "launches", folder / "state"
        self.environment = {
            **build_driver(folder / "lib", "-DMULTIPROCESSORS=4", *flags),
            "FAKE_RUNGS": str(library),
            "FAKE_LAUNCHES": str(self.launched),
            "FAKE_CUDA": "",
            "FAKE_CUDA_STATE": str(self._state),
        }

    def run(
        self, folder: Path, contenders: list[dict[str, Any]], *options: str, **keys: Any
    ) -> Cases:
        # The measurement of the device finds that nothing is computed: the run fails.
        cases = run_operator(folder, contenders, *options, expect=1, **keys, **self.environment)
        leaked = struct.unpack("4i", self._state.read_bytes()[:16])[2]
        assert leaked == 0
        return cases

    def launches(self) -> set[str]:
        """Return those of the rungs."""
        lines = self.launched.read_text(encoding="utf-8").splitlines()
        return {line for line in lines if not line.startswith("refill ")}

    def refills(self) -> int:
        """Return how often the device filled an input."""
        return self.launched.read_text(encoding="utf-8").count("refill grid=1,1,1 threads=256,1,1")


def cuda(*variants: str, **techniques: list[str]) -> dict[str, Any]:
    return {"engine": "cuda", "variants": list(variants), "techniques": techniques}


def ok(case: dict[str, Any]) -> set[str]:
    """Return the phases of a case that must be right."""
    assert case["status"] == "ok", case["reason"]
    assert case["check"]["after"]["ok"] and case["deterministic"] is True
    return set(case["phases"])


SAMPLE = {"h2d", "kernel", "d2h", "total", "residual", "host_to_host", "kernel_cold"}
SAMPLE |= {"h2d_device", "d2h_device"}
ALLOCATES = {"malloc", "free", "malloc_device", "free_device"}
IN_GRAPH = {"host_to_host", "kernel", "kernel_cold"}
REPEATS = {"kernel_graph", "kernel_stream"}
STEPS = {"h2d", "train", "d2h", "total", "residual", "step", "train_device", "step_device"}
