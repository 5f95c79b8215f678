"""What is noticed of the things that a user's file may leave behind, and what is nobody's fault."""

import builtins
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import timing  # noqa: E402 -- the harness's, which needs its folder

REFERENCE_PYTHON = Path(__file__).parents[2] / "reference_python"


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(REFERENCE_PYTHON)
    import untouched

    return untouched


def other_now() -> int:
    return 0


def replace_function(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(timing, "now_ns", other_now)


def replace_code(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(timing.now_ns, "__code__", other_now.__code__)


def replace_method(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(timing.PhaseClock, "finish", other_now)


def replace_builtin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(builtins, "memoryview", other_now)


def replace_of_torch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(torch.Tensor, "copy_", other_now)


def replace_address(patch: pytest.MonkeyPatch) -> None:
    """Of the memory that inputs are drawn into."""
    patch.setattr(torch.Tensor, "data_ptr", other_now)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (replace_function, "timing.now_ns"),
        (replace_code, "timing.now_ns"),
        (replace_method, "timing.PhaseClock.finish"),
        (replace_builtin, "builtins.memoryview"),
        (replace_of_torch, "Tensor.copy_"),
        (replace_address, "Tensor.data_ptr"),
    ],
)
def test_what_is_replaced_is_named(
    untouched: ModuleType, change: Callable[[pytest.MonkeyPatch], None], name: str
) -> None:
    harness = untouched.Untouched()
    assert harness.replaced() is None
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        found = harness.replaced()
    assert found == name
    assert harness.replaced() is None


SOURCE = """
import threading
done = threading.Event()

def wait(*_):
    done.wait()

def note(*_):
    pass
"""


@pytest.fixture(params=[("site-packages", True), ("mine", False)], ids=["library", "user"])
def code(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ModuleType, bool]]:
    """Return a module, and whether it is installed."""
    folder, installed = request.param
    module = ModuleType("helper")
    exec(compile(SOURCE, str(tmp_path / folder / "helper.py"), "exec"), module.__dict__)
    yield module, installed
    module.done.set()


def test_threads_of_users_count(untouched: ModuleType, code: tuple[ModuleType, bool]) -> None:
    module, installed = code
    harness = untouched.Untouched()
    thread = threading.Thread(target=module.wait, name="helper", daemon=True)
    thread.start()
    assert harness.beside() == (None if installed else "the thread helper runs beside it")
    module.done.set()
    thread.join()
    assert harness.beside() is None


def test_callbacks_of_users_count(untouched: ModuleType, code: tuple[ModuleType, bool]) -> None:
    module, installed = code
    harness = untouched.Untouched()
    gc.callbacks.append(module.note)
    try:
        watched = harness.watched()
    finally:
        gc.callbacks.remove(module.note)
    assert (watched is None) == installed
    assert harness.watched() is None


def test_timers_and_traces_count(untouched: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = untouched.Untouched()
    monkeypatch.setattr(signal, "getitimer", lambda which: (which == signal.ITIMER_PROF, 0))
    assert harness.beside() == "an interval timer is set"
    monkeypatch.setattr(sys, "getprofile", lambda: print)
    assert harness.watched() == "a profile function (sys.setprofile)"
