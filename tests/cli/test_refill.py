"""Refilled inputs, fresh samples and `last` of the CUDA worker: a fake GPU that computes."""

from __future__ import annotations

import array
import json
import os
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from fake_driver import build_gpu
from project import BENCH, bench, described, write_sweep

BATCH = 2000
TOLERANCE = 1e-5
SEED = 2**40 + 3

ARENA = {"alloc": "arena", "copy": "pinned"}
MAPPED = {"alloc": "arena", "copy": "mapped", "weights": "resident"}
TECHNIQUES: list[dict[str, str]] = [
    {},
    {"alloc": "async", "copy": "pinned"},
    {**ARENA, "weights": "resident", "launch": "graph"},
    {**ARENA, "copy": "overlapped"},
    {"alloc": "malloc", "copy": "mapped", "wait": "poll"},
    MAPPED,
    {**MAPPED, "wait": "poll"},
    {**MAPPED, "wait": "poll", "launch": "graph"},
]


class Worker:
    def __init__(self, engine: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [BENCH, "worker", "--engine", engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        self.ask("ok", op="hello", protocol=2)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def ask(self, status: str, **request: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request, separators=(",", ":")) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["status"] == status, answer
        return answer


class Case:
    """An open case."""

    def __init__(
        self,
        worker: Worker,
        folder: Path,
        engine: str,
        techniques: dict[str, str] | None = None,
        program: dict[str, Any] | None = None,
        **keys: Any,
    ) -> None:
        self._worker, self._folder = worker, folder
        spec = {
            "id": f"{engine} {techniques}",
            "workload": "mlp_infer",
            "engine": engine,
            "device": engine,
            "variant": "omp" if engine == "cpu" else "02_thread_per_sample",
            "dtype": "f32",
            "params": {"batch": BATCH, "layers": [4, 5, 1]},
            "techniques": techniques or {},
            **keys,
        }
        self._id = spec["id"]
        program = dict(program or {})
        described = {"operator": program.pop("operator", None), "program": program or None}
        worker.ask("ok", op="open", case=spec, seed=42, **described)

    def ask(self, op: str, status: str = "ok", **keys: Any) -> dict[str, Any]:
        return self._worker.ask(status, op=op, id=self._id, **keys)

    def sample(self, **keys: int) -> dict[str, list[float]]:
        request = {"budget_ns": 0, "max_samples": 8, "warmup_samples": 0, "warmup_ns": 0}
        return self.ask("sample", **request, **keys)["phases"]

    def written(self, op: str, name: str = "y") -> list[float]:
        """Return an array of `output` or `last`."""
        assert name in self.ask(op, path=str(self._folder))["arrays"]
        data = (self._folder / f"{name}.npy").read_bytes()
        (self._folder / f"{name}.npy").unlink()
        (header_bytes,) = struct.unpack("<H", data[8:10])
        values = array.array("d" if b"f8" in data[:64] else "f", data[10 + header_bytes :])
        return list(values)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


def compiled(folder: Path, workload: str, environment: dict[str, str], **contender: Any) -> Any:
    """Return the first program of a contender."""
    sweep = write_sweep(folder / f"{workload}.json", workload, [contender])
    done = bench("compile", sweep, "--arch", "sm_90", "--json", "--quiet", **environment)
    return json.loads(done.stdout)["programs"][0]["cubin"]


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return described(tmp_path_factory.mktemp("described"), "mlp_infer", f"batch={BATCH}")


@pytest.fixture(scope="module")
def program(
    gpu: dict[str, str], operator: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    rung = {"engine": "cuda", "variants": ["02_thread_per_sample"]}
    cubin = compiled(tmp_path_factory.mktemp("program"), "mlp_infer", gpu, **rung)
    return {"cubin": cubin, "arch": "sm_90", "operator": operator}


@pytest.fixture(scope="module")
def expected(
    operator: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[int, list[float]]:
    """Return y of the CPU by the seed of the refill."""
    folder = tmp_path_factory.mktemp("expected")
    values: dict[int, list[float]] = {}
    built = compiled(folder, "mlp_infer", {}, engine="cpu", variants=["omp"])
    with Worker("cpu", {}) as worker:
        program = {"object": built, "arch": "host", "operator": operator}
        case = Case(worker, folder, "cpu", {}, program)
        for seed in (0, 5, SEED):
            case.ask("refill", seed=seed)
            values[seed] = case.written("output")
    return values


def differs(found: list[float], expected: list[float], tolerance: float = TOLERANCE) -> bool:
    """Whether any element does; NaN does."""
    return not all(
        abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(found, expected, strict=True)
    )


def techniques_id(techniques: dict[str, str]) -> str:
    return "-".join(techniques.values()) or "default"


@pytest.mark.parametrize("techniques", TECHNIQUES, ids=techniques_id)
def test_refill_fresh_and_last(
    techniques: dict[str, str],
    gpu: dict[str, str],
    program: dict[str, str],
    expected: dict[int, list[float]],
    tmp_path: Path,
) -> None:
    with Worker("cuda", gpu) as worker:
        case = Case(worker, tmp_path, "cuda", techniques, program)
        assert not differs(case.written("output"), expected[0])
        case.ask("refill", seed=SEED)
        assert not differs(case.written("output"), expected[SEED])
        reason = case.ask("last", "failed", path=str(tmp_path))["reason"]
        assert reason == 'last before sample with "fresh"'
        phases = case.sample(fresh=5)
        assert len(phases.pop("kernel_graph")) == 2  # one of them on inputs that change
        assert {len(values) for values in phases.values()} == {1}  # no time for another
        assert not differs(case.written("last"), expected[5])
        assert not differs(case.written("output"), expected[5])
        case.ask("refill", seed=0)
        assert not differs(case.written("output"), expected[0])


def test_cases_share_the_memory_for_copies_of_their_inputs(
    gpu: dict[str, str], program: dict[str, str], tmp_path: Path
) -> None:
    """It moves if one needs more: then the graphs of the others are captured again, three for each."""
    environment = {**gpu, "FAKE_CUDA": "cuStreamBeginCapture_v2 op=sample nth=7 error=1"}
    with Worker("cuda", environment) as worker:
        case = Case(worker, tmp_path, "cuda", ARENA, program)
        # So much that the fake driver's malloc cannot have it where it had the memory before.
        params = {"batch": 100 * BATCH, "layers": [4, 5, 1]}
        larger = Case(worker, tmp_path, "cuda", ARENA, program, id="larger", params=params)
        for which in (case, case, larger, larger):
            which.sample(fresh=5)
        limits = {"budget_ns": 0, "max_samples": 8, "warmup_samples": 0, "warmup_ns": 0}
        answer = case.ask("sample", "failed", fresh=5, **limits)
        assert answer["reason"].startswith("capture_begin")


def test_open_cases_have_their_own_inputs(
    gpu: dict[str, str],
    program: dict[str, str],
    expected: dict[int, list[float]],
    tmp_path: Path,
) -> None:
    """Those that copy from pageable memory share it."""
    with Worker("cuda", gpu) as worker:
        refilled = Case(worker, tmp_path, "cuda", {}, program)
        refilled.ask("refill", seed=SEED)
        opened = Case(worker, tmp_path, "cuda", {"alloc": "arena"}, program)
        copied = Case(worker, tmp_path, "cuda", ARENA, program)
        assert not differs(copied.written("output"), expected[0])
        refilled.sample(fresh=5)
        assert not differs(opened.written("output"), expected[0])
        assert not differs(refilled.written("last"), expected[5])
        opened.ask("refill", seed=SEED)
        assert not differs(refilled.written("output"), expected[5])
        assert not differs(opened.written("output"), expected[SEED])


@pytest.mark.parametrize(
    "techniques", [{}, {**ARENA, "launch": "graph"}, {**MAPPED, "wait": "poll"}], ids=techniques_id
)
def test_kernel_that_keeps_its_first_result(
    techniques: dict[str, str],
    gpu: dict[str, str],
    program: dict[str, str],
    expected: dict[int, list[float]],
    tmp_path: Path,
) -> None:
    environment = {**gpu, "FAKE_CUDA": "cuLaunchKernel always repeats"}
    with Worker("cuda", environment) as worker:
        case = Case(worker, tmp_path, "cuda", techniques, program)
        assert not differs(case.written("output"), expected[0])
        case.sample(fresh=0)
        assert not differs(case.written("last"), expected[0])
        case.sample(fresh=5)
        assert differs(case.written("last"), expected[5])
        assert differs(case.written("output"), expected[5])


@pytest.mark.parametrize(
    "techniques", [ARENA, {**ARENA, "launch": "graph"}, MAPPED], ids=techniques_id
)
def test_kernel_that_writes_nothing_leaves_random_values(
    techniques: dict[str, str], gpu: dict[str, str], program: dict[str, str], tmp_path: Path
) -> None:
    """Neither zeros of new memory nor a pattern."""
    environment = {**gpu, "FAKE_CUDA": "cuLaunchKernel always idles"}
    with Worker("cuda", environment) as worker:
        case = Case(worker, tmp_path, "cuda", techniques, program)
        case.sample(fresh=5)
        for op in ("last", "output"):
            y = case.written(op)
            assert len(set(y)) > BATCH / 2
            assert all(-1 <= value < 1 for value in y)


@pytest.mark.parametrize("techniques", [{}, ARENA, MAPPED], ids=techniques_id)
def test_refill_reaches_the_inputs_of_kernel_probes(
    techniques: dict[str, str],
    gpu: dict[str, str],
    program: dict[str, str],
    tmp_path: Path,
) -> None:
    """Nothing shows what these compute: a refill fails if the copy to the device does."""
    environment = {**gpu, "FAKE_CUDA": "cuMemcpyHtoDAsync_v2 op=refill error=1"}
    with Worker("cuda", environment) as worker:
        case = Case(worker, tmp_path, "cuda", techniques, program)
        case.ask("refill", "failed", seed=5)
