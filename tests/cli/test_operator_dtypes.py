"""Element types of eight bits, and dtypes with type letters, in every language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from operator_folders import make_project, write_operator
from project import FIXTURES, QUICK_MEASURE, bench, compiler_options, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")


def array(name: str, dtype: str, *shape: str | int, **keys: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "dtype": dtype, **keys}


# Products of FP8, scaled by integers, rounded to FP8 and to integers.
KEYS: dict[str, Any] = {
    "params": {
        "n": {"default": 24, "min": 16},
        "k": {"default": 40, "min": 16},
    },  # no sum is all rounding
    "dtypes": ["e4m3", "e5m2"],
    "inputs": [
        array("a", "T", "n", "k"),
        array("b", "T", "n", "k", fill={"uniform": [-2, 2]}),
        array("scale", "i8", "n", fill={"integers": ["-n / 2", 100]}),
    ],
    "outputs": [
        array("y", "f32", "n", "n"),
        array("small", "T", "n", "n"),
        array("sign", "i8", "n", "n"),
    ],
}
REFERENCE = """
    import torch
    def products(a, b, scale):
        y = a @ b.T * scale / 128
        return y, y.clamp(-400, 400), torch.sign(a).to(torch.int8)[:, :1] * scale.sign()
    def oracle(a, b, scale):
        y, small, sign = products(a, b, scale)
        return y, small, sign
    def reference(a, b, scale):
        y, small, sign = products(a.float(), b.float(), scale)
        return y, small.to(a.dtype), sign
    def jax_reference(a, b, scale):
        import jax.numpy as jnp
        wide = a.astype(jnp.float32)
        y = wide @ b.astype(jnp.float32).T * scale / 128
        sign = jnp.sign(wide).astype(jnp.int8)[:, :1] * jnp.sign(scale)
        return y, jnp.clip(y, -400, 400).astype(a.dtype), sign
    """
RUN = """
    from reference import reference as run
    """
RUNG = """#include "common/workload.cuh"
#if !DTYPE_E4M3 && !DTYPE_E5M2
#error neither
#endif
LAUNCHES = {{"products", {"ceil_div(n, 8)", "ceil_div(n, 8)"}, {"8", "8"}}};
__device__ int sign_of(float x) { return (x > 0) - (x < 0); }
KERNEL(products) {
    const long long i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    if (i >= n || j >= n)
        return;
    float sum = 0;
    for (long long at = 0; at < k; at++)
        sum += (float)a[i * k + at] * (float)b[j * k + at];
    sum = sum * scale[j] / 128;
    y[i * n + j] = sum;
    small[i * n + j] = T(fminf(fmaxf(sum, -400.0f), 400.0f));
    sign[i * n + j] = sign_of((float)a[i * k]) * sign_of(scale[j]);
}
"""


def folder_of(tmp_path: Path) -> Path:
    files = {"reference.py": REFERENCE, "ours.py": RUN, "01_products.cu": RUNG}
    return write_operator(tmp_path / "products", files, **KEYS)


def test_the_rung_is_right_and_compiles(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    printed = bench("workload", "check", folder, "--emulate").stdout
    assert "01_products  right in" in printed
    options = ["--arch", "sm_90", "--cache", tmp_path / "cache", *compiler_options()]
    bench("compile", "--workload", folder, *options)


LINEAR = FIXTURES / "operators" / "linear"


@pytest.mark.long
def test_a_rung_with_type_letters_is_right_in_each_dtype() -> None:
    printed = bench("workload", "check", LINEAR, "--emulate").stdout
    assert (
        "  dtypes           f32 (W f32, products fp32), tf32 (T f32, W f32, products tf32), "
        "mixed (T f16, W f32, products f16)\n"
    ) in printed
    assert "\nw      weights  W " in printed
    assert "01_simple  right in 9 cases" in printed


def test_contenders_of_every_language_are_right(tmp_path: Path) -> None:
    cpu = {"device": ["cpu"]}
    contenders: dict[str, list[dict[str, Any]]] = {
        "products": [
            {"engine": "pytorch", "variants": ["eager", "inference"], **cpu},
            {"engine": "python", "variants": ["ours"], **cpu},
            {"engine": "jax", "variants": ["jit", "aot"], **cpu},
        ],
        "linear": [
            {"engine": "pytorch", "variants": ["eager"], **cpu},
            {"engine": "jax", "variants": ["jit"], **cpu},
            {"engine": "cpu", "variants": ["omp"]},
        ],
    }
    measure = {"measure": {**QUICK_MEASURE, "min_rounds": 2}}
    root, sweeps = make_project(folder_of(tmp_path)), []
    make_project(LINEAR, root)
    for name, dtypes in (("products", ["e4m3", "e5m2"]), ("linear", ["tf32", "mixed"])):
        keys: dict[str, Any] = {**measure, "axes": {"dtype": dtypes}}
        sweeps.append(write_sweep(tmp_path / f"{name}.json", name, contenders[name], **keys))
    bench("run", *sweeps, "--out", tmp_path / "run", root=root, expect=None)
    cases = read_cases(tmp_path / "run")
    assert len(cases) == 16
    assert sum(id.endswith("/dtype=tf32") for id in cases) == 3
    for case in cases.values():
        if not (case["reason"] or "").startswith("JAX is not installed"):
            assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"], case["reason"]
