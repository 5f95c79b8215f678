"""Inputs of described workloads, as C makes and refills them, and as Python reads them."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import made_inputs
import pytest
from made_inputs import bytes_of, program_of_inputs, told

np = pytest.importorskip("numpy")
from input_files import InputFiles  # noqa: E402 -- these need NumPy
from operator_data import STORED, OperatorInputs  # noqa: E402
from operator_request import ARRAY, Fill  # noqa: E402
from operator_request import Array as ArraySpec  # noqa: E402
from refill import Refill  # noqa: E402
from workload import CaseError  # noqa: E402

SEED = 1234567890123456789
FILLS = [
    {"kind": "uniform", "low": -1.0, "high": 1.0},
    {"kind": "uniform", "low": -1e-4, "high": 1e-4},  # f16: many are subnormal
    {"kind": "uniform", "low": 0.5, "high": 3e5},
    {"kind": "normal", "low": 0.0, "high": 1.0},
    {"kind": "normal", "low": 3.0, "high": 0.02},
    {"kind": "normal", "low": 0.0, "high": 1e10},  # beyond f16 and the integers
    {"kind": "integers", "low": -5.0, "high": 8.0},
    {"kind": "integers", "low": 0.0, "high": 2.0**32},
    {"kind": "integers", "low": -(2.0**40), "high": -(2.0**40) + 3},
    {
        **{"kind": "uniform", "low": 0.5, "high": 1.5, "times": 2.0},
        **{"of_kind": "normal", "of_low": 3.0, "of_high": 0.7, "of": 7},
    },
    {"kind": "permutation"},
    {"kind": "constant", "low": 1 / 3},
    {"kind": "constant", "low": 1e39},
]
DRAWN = FILLS[:10]
NORMAL = FILLS[3]
every_dtype = pytest.mark.parametrize("dtype", STORED)


@pytest.fixture(scope="module")
def program() -> Path:
    return program_of_inputs()


def array_of(dtype: str, fill: dict[str, Any], *shape: int, name: str = "x") -> dict[str, Any]:
    about = {"name": name, "shape": list(shape), "dtype": dtype}
    return {**about, "input": True, "output": False, "fill": fill}


def spec_of(array: dict[str, Any]) -> ArraySpec:
    return ARRAY(dict(array), "array")


@pytest.mark.parametrize("fill", FILLS, ids=str)
def test_a_refill_does_not_depend_on_the_one_before(program: Path, fill: dict[str, Any]) -> None:
    for dtype in STORED:
        array = array_of(dtype, fill, 257, 256)
        opened = bytes_of(program, [told(array, SEED, 2)])
        for refills in ((5, 2**63), (2**63, 0, 2**63)):
            after = bytes_of(program, [told(array, SEED, 2, *refills)])
            assert after == bytes_of(program, [told(array, SEED, 2, 2**63)])
        values = np.frombuffer(opened, STORED[dtype])
        is_one_value = np.mean(values == np.median(values)) > 0.99  # beyond the type's range
        assert is_one_value or after != opened
        assert bytes_of(program, [told(array, SEED, 2, 5, 0)]) == opened


@pytest.mark.parametrize("fill", FILLS[:6], ids=str)
def test_a_refill_leaves_no_norm_maximum_or_sum(program: Path, fill: dict[str, Any]) -> None:
    array = array_of("f64", fill, 64, 1000)
    opened, found = (
        np.frombuffer(bytes_of(program, [told(array, SEED, 0, *refills)])).reshape(64, 1000)
        for refills in ((), (7,))
    )
    for invariant in (np.linalg.norm, np.max, np.min, np.sum):
        assert not np.any(invariant(found, axis=1) == invariant(opened, axis=1)), invariant
    error = opened.std() / opened.size**0.5
    assert abs(found.mean() - opened.mean()) < 10 * error, "the same distribution"


# ---- what Python reads -----------------------------------------------------------------------------


def test_python_has_the_bytes_of_the_files(tmp_path: Path) -> None:
    """As opened and after refills, in which constants stay; in memory of its own."""

    class Case:
        loaded: Any = None

        def load(self, inputs: Any) -> None:
            self.loaded = inputs

    arrays = [
        array_of(dtype, fill, 3, 5, name=f"{dtype}_{number}")
        for dtype in STORED
        for number, fill in enumerate(FILLS[3:11])
    ]
    case, specs = Case(), [spec_of(array) for array in arrays]
    shared = OperatorInputs(specs, InputFiles(made_inputs.make(tmp_path, arrays, SEED)))
    refill = Refill(case, shared)
    opened = {path.name: path.read_bytes() for path in (tmp_path / "0").iterdir()}
    for seed in (3, 4):
        made_inputs.make(tmp_path, arrays, SEED, seed)
        refill(seed)
    for spec, x, first in zip(specs, case.loaded.arrays, shared.arrays, strict=True):
        place = "0" if spec.fill.kind == "constant" else "4"
        assert x.tobytes() == (tmp_path / place / spec.name).read_bytes()
        assert first.tobytes() == opened[spec.name]
        assert (x.shape, x.dtype) == (spec.shape, STORED[spec.dtype])
    refill(0)
    assert case.loaded is shared, "nothing is read again"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read an input: No such file"),
        (b"123", "3 bytes, expected 24"),
        (b"1" * 25, "25 "),
    ],
)
def test_a_bad_file_is_an_error(tmp_path: Path, content: bytes | None, said: str) -> None:
    (tmp_path / "0").mkdir()
    if content is not None:
        (tmp_path / "0" / "x").write_bytes(content)
    with pytest.raises(CaseError, match=f"0/x: {said}"):
        OperatorInputs([spec_of(array_of("f64", NORMAL, 3))], InputFiles(tmp_path))


def test_specs_come_from_the_request() -> None:
    x = array_of("f16", NORMAL, 3, 5)
    assert spec_of(x) == ArraySpec("x", (3, 5), "f16", True, False, Fill("normal", 0.0, 1.0))
    y = {"name": "y", "shape": [3], "dtype": "i64", "input": False, "output": True}
    assert spec_of(y) == ArraySpec("y", (3,), "i64", False, True, None)


# ---- numbers ---------------------------------------------------------------------------------------


def normals(program: Path, n: int) -> tuple[Any, Any]:
    """Return uniform numbers and normal ones of the same words."""
    uniform = {"kind": "integers", "low": 0.0, "high": 2.0**32}
    lines = [told(array_of("f64", fill, n), SEED, 0) for fill in (uniform, NORMAL)]
    words, values = np.frombuffer(bytes_of(program, lines)).reshape(2, n)
    return words, values


def test_normal_is_the_quantile(program: Path) -> None:
    exact = statistics.NormalDist()
    words, values = normals(program, 5000)
    for word, found in zip(words.tolist(), values.tolist(), strict=True):
        assert found == pytest.approx(exact.inv_cdf((word + 0.5) / 2**32), rel=1e-14)


def test_normal_has_the_mean_and_the_deviation(program: Path) -> None:
    n = 1 << 18
    _, values = normals(program, n)
    assert abs(values.mean()) < 5 / n**0.5
    assert abs(values.std() - 1) < 5 / (2 * n) ** 0.5


def test_bfloat16_is_what_torch_makes_of_it(program: Path) -> None:
    torch = pytest.importorskip("torch")
    for fill in (NORMAL, {"kind": "constant", "low": 1 + 2**-8}):
        bits, singles = (
            np.frombuffer(bytes_of(program, [told(array_of(dtype, fill, 10_000), SEED, 0)]), kind)
            for dtype, kind in (("bf16", np.uint16), ("f32", np.float32))
        )
        found = torch.from_numpy(bits.copy()).view(torch.bfloat16)
        assert torch.equal(found, torch.from_numpy(singles.copy()).to(torch.bfloat16))


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_fp8_is_what_torch_makes_of_it(program: Path, dtype: str) -> None:
    """Every value, and the middle between each and the next."""
    torch = pytest.importorskip("torch")
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[dtype]
    every = torch.arange(256, dtype=torch.uint8).view(kind).double()
    values = every[every.isfinite()].sort().values
    between = torch.cat([values, (values[1:] + values[:-1]) / 2, values * 0.999, values * 1.001])
    between = between.clamp(values[0], values[-1])
    expected = between.float().to(kind).view(torch.uint8).numpy()
    fills = [{"kind": "constant", "low": float(value)} for value in between]
    lines = [told(array_of(dtype, fill, 1), SEED, 0) for fill in fills]
    assert bytes_of(program, lines) == expected.tobytes()
