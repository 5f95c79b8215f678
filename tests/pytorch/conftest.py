"""A worker as the supervisor sees it: a process that answers each line with a line."""

import gc
import itertools
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import made_inputs
import pytest

WORKER = Path(__file__).parents[2] / "reference_pytorch" / "worker.py"
# Much longer than any test needs: it only ends tests whose worker hangs.
ANSWER_TIMEOUT_S = 240


try:
    import torch
except ImportError:
    torch = None
NO_GPU = None if torch is not None and torch.cuda.is_available() else "PyTorch sees no CUDA device"
needs_gpu = pytest.mark.gpu(NO_GPU)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop combinations of test and device that exist on no machine."""
    items[:] = [item for item in items if _exists(item)]


def _exists(item: pytest.Item) -> bool:
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    device = params.get("worker")
    only_on = item.get_closest_marker("only_on")
    if device is None or only_on is not None:
        return device is None or device == only_on.args[0]
    # A module's takes_gpu() returns which parameters need a GPU.
    takes_gpu = getattr(item.module, "takes_gpu", None)
    return device != "cpu" or takes_gpu is None or not takes_gpu(**params)


class WorkerProcess:
    def __init__(
        self,
        device: str = "cpu",
        *python_options: str,
        program: Path = WORKER,
        python: Path | str = sys.executable,
    ) -> None:
        self.process = subprocess.Popen(
            [str(python), *python_options, str(program), "--device", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self.device = device
        self._ids = itertools.count()
        self._folder = tempfile.TemporaryDirectory()
        self._mlps: dict[Any, dict[str, Any]] = {}

    def ask_line(self, line: bytes) -> dict[str, Any]:
        written = 0
        while written < len(line):
            written += self.process.stdin.write(line[written:])
        return json.loads(self._read_line())

    def ask(self, op: str, **keys: Any) -> dict[str, Any]:
        return self.ask_line(json.dumps({"op": op, **keys}).encode() + b"\n")

    def hello(self) -> dict[str, Any]:
        return self.ask("hello", protocol=2)

    def mlp(self, seed: int, *sizes: Any) -> dict[str, Any]:
        """Return `operator_cases.mlp` of these sizes, the same each time."""
        import operator_cases  # needs NumPy

        key = (seed, *sizes)
        if key not in self._mlps:
            folder = Path(self._folder.name, str(len(self._mlps)))
            self._mlps[key] = operator_cases.mlp(folder, *sizes)
        return self._mlps[key]

    def open(
        self,
        variant: str = "eager",
        batch: int = 64,
        layers: tuple[int, ...] = (4, 5, 1),
        *,
        seed: int = 42,
        program: dict[str, str] | None = None,
        profile: bool = False,
        operator: dict[str, Any] | None = None,
        **case: Any,
    ) -> dict[str, Any]:
        """Open a case, with a new id unless `case` has one; of `mlp` unless it names a workload."""
        if operator is None and "workload" not in case:
            operator = self.mlp(seed, batch, layers, case.get("dtype", "f32"))
        spec = {
            "id": f"case {next(self._ids)}",
            "workload": "mlp_infer",
            "engine": "pytorch",
            "device": self.device,
            "variant": variant,
            "dtype": "f32",
            "params": {"batch": batch, "layers": layers},
            "techniques": {},
            **case,
        }
        rest = {"program": program, "profile": profile, "operator": operator}
        if operator is not None:
            folder = Path(operator["folder"] + ".inputs")
            rest["inputs"] = str(made_inputs.make(folder, operator["arrays"], seed))
        return self.ask("open", case=spec, seed=seed, **rest)

    def sample(self, case_id: str, **keys: int) -> dict[str, Any]:
        limits = {"budget_ns": 2_000_000, "max_samples": 5, "warmup_samples": 2, "warmup_ns": 0}
        return self.ask("sample", id=case_id, **{"round": 0, **limits, **keys})

    def end(self) -> int:
        """Close the worker's stdin and return its exit code."""
        self.process.stdin.close()
        return self.process.wait(ANSWER_TIMEOUT_S)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self._folder.cleanup()

    def _read_line(self) -> bytes:
        line = b""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while not line.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self.process.stdout], [], [], left)
            assert ready, f"no answer within {ANSWER_TIMEOUT_S} s"
            part = self.process.stdout.read(1 << 20)
            assert part, f"the worker ended with {self.process.wait()} instead of answering"
            line += part
        assert line.count(b"\n") == 1, "more than one answer to one request"
        return line


# What torch.compile has compiled is kept: the first C++ of an empty folder takes ten seconds.
SCRATCH = Path(__file__).parents[2] / "build" / "scratch"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(SCRATCH / "inductor")


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pytorch")


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Give the workers one cache folder for compiled code, as a run does, and no data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_SCRATCH", str(SCRATCH))
        patch.setenv("BENCH_ROOT", str(folder / "root" / "project"))
        patch.delenv("MNIST_DIR", raising=False)
        yield


# Not for the session: tests of other folders may run between these.
@pytest.fixture(scope="module", autouse=True)
def _in_environment(session_folder: Path) -> Iterator[None]:
    # PyTorch stays, and cases that are closed in this process collect garbage.
    gc.freeze()
    with _environment(session_folder):
        yield


@pytest.fixture
def start_worker() -> Iterator[Callable[..., WorkerProcess]]:
    """Return a function that starts a worker; all workers end with the test."""
    started: list[WorkerProcess] = []

    def start(*arguments: str) -> WorkerProcess:
        started.append(WorkerProcess(*arguments))
        return started[-1]

    yield start
    for worker in started:
        worker.stop()


def _devices() -> list[Any]:
    if torch is None:
        no_torch = pytest.mark.skip(reason="PyTorch is not installed")
        return [pytest.param("cpu", marks=no_torch)]
    return ["cpu", pytest.param("cuda", marks=needs_gpu)]


@pytest.fixture(scope="session", params=_devices())
def worker(
    request: pytest.FixtureRequest, session_folder: Path, python_with_torch: Path
) -> Iterator[WorkerProcess]:
    """Return a worker after hello, one for each available device, shared by all tests."""
    with _running(session_folder, request.param, python=python_with_torch) as started:
        yield started


@contextmanager
def _running(folder: Path, device: str, **keys: Path) -> Iterator[WorkerProcess]:
    with _environment(folder):
        worker = WorkerProcess(device, **keys)
    assert worker.hello()["status"] == "ok"
    yield worker
    worker.stop()


@pytest.fixture
def device() -> str:
    """Return the device of `session`."""
    return "cpu"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, device: str) -> Any:
    """Return a session of this process, on the CPU or as on a GPU."""
    from session import Session  # needs NumPy

    session = Session("cpu")
    if device == "cuda":
        import fake_gpu

        import forward
        import host_to_host
        import operator_training

        gpu = fake_gpu.install(monkeypatch, forward, host_to_host, operator_training)
        monkeypatch.setattr(session, "_device", gpu)
        monkeypatch.setattr(session, "prepare", lambda _request: None)
    return session
