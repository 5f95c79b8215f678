"""Inputs of operators: the same bits in C and NumPy, as filled and after refills."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from project import built

np = pytest.importorskip("numpy")
import native  # noqa: E402 -- these need NumPy
import operator_data  # noqa: E402
import philox  # noqa: E402
from operator_data import (  # noqa: E402
    ArraySpec,
    Fill,
    OperatorInputs,
    fill_key,
    filled,
    normal,
    widened,
)
from operator_request import ARRAY  # noqa: E402
from refill import Refill  # noqa: E402

SEED = 1234567890123456789
KINDS = ("uniform", "normal", "integers", "permutation", "constant")  # as fill_kind_t
FILLS = [
    Fill("uniform", -1.0, 1.0),
    Fill("uniform", -1e-4, 1e-4),  # f16: many are subnormal
    Fill("uniform", 0.5, 3e5),
    Fill("normal", 0.0, 1.0),
    Fill("normal", 3.0, 0.02),
    Fill("normal", 0.0, 1e10),  # beyond f16 and the integers
    Fill("integers", -5.0, 8.0),
    Fill("integers", 0.0, 2.0**32),
    Fill("integers", -(2.0**40), -(2.0**40) + 3),
    Fill("permutation", 0.0, 0.0),
    Fill("constant", 1 / 3, 0.0),
    Fill("constant", 1e39, 0.0),
]
# Around the ends of blocks of words, and of chunks here and there.
SIZES = (0, 1, 5, 4095, 4097, 65535, 65536, 65537, 131073)
every_dtype = pytest.mark.parametrize("dtype", operator_data.STORED)


@pytest.fixture(params=["C", "NumPy"])
def filled_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Python call C where `make` has built it, or do all by itself."""
    if request.param == "NumPy":
        for name in ("_words", "_uniform", "_fill"):
            monkeypatch.setattr(native, name, None)
    elif native._fill is None:
        pytest.fail("there is no build/libinputs.so: make builds it with bench")


@pytest.fixture(scope="module")
def program() -> Path:
    return built("operator_fill")


def told(spec: ArraySpec, number: int, *refills: int) -> str:
    fill = spec.fill
    size = int(np.prod(spec.shape))
    words = [spec.dtype, KINDS.index(fill.kind), repr(fill.low), repr(fill.high), SEED, number]
    return " ".join(map(str, [*words, size, *refills])) + "\n"


def spec_of(dtype: str, fill: Fill, *shape: int) -> ArraySpec:
    return ArraySpec("x", shape, dtype, True, False, fill)


def bytes_of(program: Path, lines: list[str]) -> bytes:
    return subprocess.run(
        [program], input="".join(lines).encode(), capture_output=True, check=True, timeout=240
    ).stdout


@pytest.mark.usefixtures("filled_by")
@every_dtype
@pytest.mark.parametrize("fill", FILLS, ids=str)
def test_c_and_numpy_agree_to_the_bit(program: Path, dtype: str, fill: Fill) -> None:
    specs = [spec_of(dtype, fill, size) for size in SIZES]
    arrays = [filled(spec, SEED, number) for number, spec in enumerate(specs)]
    lines = [told(spec, number) for number, spec in enumerate(specs)]
    assert bytes_of(program, lines) == b"".join(array.tobytes() for array in arrays)


@every_dtype
@pytest.mark.parametrize("fill", FILLS, ids=str)
def test_a_refill_does_not_depend_on_the_one_before(program: Path, dtype: str, fill: Fill) -> None:
    specs = [spec_of(dtype, fill, *shape) for shape in ((0,), (1,), (257, 256))]
    inputs, direct = OperatorInputs(specs, SEED), OperatorInputs(specs, SEED)
    opened = [array.copy() for array in inputs.arrays]
    inputs.refill(0, 5)
    inputs.refill(5, 2**63)
    direct.refill(0, 2**63)
    after = b"".join(array.tobytes() for array in inputs.arrays)
    assert after == b"".join(array.tobytes() for array in direct.arrays)
    for refills in ((5, 2**63), (2**63,), (2**63, 0, 2**63)):
        lines = [told(spec, number, *refills) for number, spec in enumerate(specs)]
        assert bytes_of(program, lines) == after
    is_one_value = np.mean(opened[2] == np.median(opened[2])) > 0.99  # beyond the type's range
    assert is_one_value or not np.array_equal(inputs.arrays[2], opened[2])
    inputs.refill(2**63, 0)
    for array, expected in zip(inputs.arrays, opened, strict=True):
        assert array.tobytes() == expected.tobytes()


# The unit tests of rng.c and fill.c have the same numbers.
@pytest.mark.usefixtures("filled_by")
def test_keys_and_refills_to_the_bit() -> None:
    assert philox.mix(0) == 0xE220A8397B1DCDAF
    assert fill_key(42, 0) == 42
    assert fill_key(42, 7) == fill_key(7, 42) == 0xF7E9F3F88CC04AD6
    assert fill_key(0x123456789ABCDEF0, 2**63) == 0xD4049834520EDA4F
    normal = filled(spec_of("f32", Fill("normal", 0.0, 1.0), 4), fill_key(42, 7), 3)
    expected = [0xBF238077, 0xBF980348, 0x400BB40F, 0x3F725D5C]
    assert normal.view(np.uint32).tolist() == expected


@pytest.mark.parametrize("fill", FILLS[:6], ids=str)
def test_a_refill_leaves_no_norm_maximum_or_sum(fill: Fill) -> None:
    inputs = OperatorInputs([spec_of("f64", fill, 64, 1000)], SEED)
    opened = inputs.arrays[0].copy()
    inputs.refill(0, 7)
    (found,) = inputs.arrays
    for invariant in (np.linalg.norm, np.max, np.min, np.sum):
        assert not np.any(invariant(found, axis=1) == invariant(opened, axis=1)), invariant
    error = opened.std() / opened.size**0.5
    assert abs(found.mean() - opened.mean()) < 10 * error, "the same distribution"


def test_refilling_uses_the_inputs_own_function_on_a_copy() -> None:
    class Case:
        loaded: Any = None

        def load(self, inputs: Any) -> None:
            self.loaded = inputs

    case = Case()
    shared = OperatorInputs([spec_of("i32", Fill("permutation", 0, 0), 100)], SEED)
    opened = shared.arrays[0].copy()
    refill = Refill(case, shared)
    refill(3)
    refill(4)
    expected = OperatorInputs(shared.specs, SEED)
    expected.refill(0, 4)
    assert np.array_equal(case.loaded.arrays[0], expected.arrays[0])
    assert np.array_equal(shared.arrays[0], opened)
    refill(0)
    assert case.loaded is shared, "nothing is filled again"


def test_specs_come_from_the_request() -> None:
    request = [
        {
            "name": "x",
            "shape": [3, 5],
            "dtype": "f16",
            "input": True,
            "output": False,
            "fill": {"kind": "normal", "low": 0, "high": 1},
        },
        {"name": "y", "shape": [3], "dtype": "i64", "input": False, "output": True},
    ]
    specs = [ARRAY(array, "array") for array in request]
    assert specs[0] == ArraySpec("x", (3, 5), "f16", True, False, Fill("normal", 0.0, 1.0))
    assert specs[1] == ArraySpec("y", (3,), "i64", False, True, None)
    (x,) = OperatorInputs(specs, SEED).arrays
    assert (x.shape, x.dtype) == ((3, 5), np.float16)


# ---- normal numbers --------------------------------------------------------------------------------


# The unit test of fill.c has the same numbers.
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0, "-0x1.95a1198fcf3d4p+2"),
        (12345, "-0x1.22445dd52d97ap+2"),
        (322122546, "-0x1.708522723041ap+0"),  # the last of the tail
        (322122547, "-0x1.7085226b1fc71p+0"),
        (2147483648, "0x1.40d931ff62707p-32"),
        (3972844749, "0x1.708522723041ap+0"),
        (4294967295, "0x1.95a1198fcf3d4p+2"),
    ],
)
def test_normal_to_the_bit(word: int, expected: str) -> None:
    assert float(normal(np.array([word], np.uint32))[0]).hex() == expected


def test_normal_is_the_quantile() -> None:
    words = np.concatenate(
        [np.arange(1000), np.arange(0, 2**32, 999_983), 2**32 - 1 - np.arange(1000)]
    ).astype(np.uint32)
    exact = statistics.NormalDist()
    for word, found in zip(words.tolist(), normal(words).tolist(), strict=True):
        assert found == pytest.approx(exact.inv_cdf((word + 0.5) / 2**32), rel=1e-14)


def test_normal_has_the_mean_and_the_deviation() -> None:
    n = 1 << 18
    values = filled(spec_of("f64", Fill("normal", 2.0, 3.0), n), SEED, 0)
    assert abs(values.mean() - 2) < 5 * 3 / n**0.5
    assert abs(values.std() - 3) < 5 * 3 / (2 * n) ** 0.5


# ---- what NumPy lacks ------------------------------------------------------------------------------


def test_bfloat16_is_what_torch_makes_of_it() -> None:
    torch = pytest.importorskip("torch")
    for fill in (Fill("normal", 0.0, 1.0), Fill("constant", 1 + 2**-8, 0.0)):
        bits = filled(spec_of("bf16", fill, 10_000), SEED, 0)
        singles = filled(spec_of("f32", fill, 10_000), SEED, 0)
        found = torch.from_numpy(bits).view(torch.bfloat16)
        assert torch.equal(found, torch.from_numpy(singles).to(torch.bfloat16))
        assert np.array_equal(widened(bits), found.double().numpy())


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_fp8_is_what_torch_makes_of_it(program: Path, dtype: str) -> None:
    """Every value, and the middle between each and the next; in C every number of 8 bits, too."""
    torch = pytest.importorskip("torch")
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[dtype]
    every = torch.arange(256, dtype=torch.uint8).view(kind).double()
    values = every[every.isfinite()].sort().values
    between = torch.cat([values, (values[1:] + values[:-1]) / 2, values * 0.999, values * 1.001])
    between = between.clamp(values[0], values[-1])
    expected = between.float().to(kind).view(torch.uint8).numpy()
    found = operator_data._rounded(between.numpy(), dtype)
    assert np.array_equal(found, expected)
    fills = [Fill("constant", float(value), 0.0) for value in between]
    lines = [told(spec_of(dtype, fill, 1), 0) for fill in fills]
    assert bytes_of(program, lines) == expected.tobytes()


def test_floats_are_widened() -> None:
    for dtype, kind in {"f16": "f", "f32": "f", "f64": "f", "i64": "i", "bool": "b"}.items():
        array = filled(spec_of(dtype, Fill("integers", 0.0, 100.0), 2, 3), SEED, 0)
        wide = widened(array)
        assert np.array_equal(wide, array)
        assert wide.dtype == (np.float64 if kind == "f" else array.dtype)
