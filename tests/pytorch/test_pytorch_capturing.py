"""A captured graph has all that it uses."""

import fcntl
import gc
import os
import weakref
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from conftest import needs_gpu  # noqa: E402 -- these need PyTorch

import capturing  # noqa: E402
import turns  # noqa: E402
from capturing import capture, compiled, run_on_side_stream, use_compile_cache  # noqa: E402
from workload import Skip  # noqa: E402


@pytest.fixture
def calls(monkeypatch):
    """Return the calls that a capture makes, here without a GPU."""
    made = []

    @contextmanager
    def graph(_graph):
        made.append("begin")
        yield
        made.append("end")

    replays = SimpleNamespace(replay=lambda: made.append("replay"))
    clear = "_cuda_clearCublasWorkspaces"
    monkeypatch.setattr(torch._C, clear, lambda: made.append("clear"), raising=False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: replays)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    return made


def test_a_graph_has_its_own_workspaces(calls):
    captured = capture(lambda: calls.append("work"))
    captured.replay()
    assert calls == ["clear", "begin", "work", "end", "clear", "replay"]


def test_workspaces_are_cleared_after_a_capture_that_fails(calls):
    with pytest.raises(ZeroDivisionError):
        capture(lambda: 1 / 0)
    assert calls == ["clear", "begin", "clear"]
    assert gc.isenabled()


def test_no_garbage_is_collected_during_a_capture(calls):
    class Garbage:
        def __init__(self):
            self.cycle = self

    gone = []
    weakref.finalize(Garbage(), calls.append, "collected")
    capture(lambda: gone.append(gc.isenabled()))
    assert gone == [False]
    assert calls[0] == "collected"


def test_a_graph_keeps_what_its_work_names(calls):
    tensor = torch.ones(3)
    held = weakref.ref(tensor)
    captured = capture(lambda t=tensor: t.sum())
    del tensor
    assert held() is not None
    del captured
    gc.collect()
    assert held() is None


def test_options_are_added_to_those_of_the_mode(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda _function, **keys: asked.append(keys))
    compiled(lambda x: x, "max-autotune-no-cudagraphs", shape_padding=False)
    (keys,) = asked
    of_mode = torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
    assert of_mode["max_autotune"]
    assert keys["options"] == {**of_mode, "shape_padding": False}
    assert keys["fullgraph"]
    assert not keys["dynamic"]
    with pytest.raises(Skip, match=r"the compiler of PyTorch .* has no option of_tomorrow"):
        compiled(lambda x: x, "max-autotune-no-cudagraphs", of_tomorrow=True)


def test_another_size_of_the_same_function_is_compiled_for_itself(monkeypatch):
    """What is dynamic is what changes between the calls of one program, here the number of a step."""
    compile_it, unknown = torch.compile, []

    def backend(module, inputs):
        unknown.append(sum(not isinstance(x, torch.Tensor) for x in inputs))
        return module.forward

    def without_code(function, *, mode, **keys):
        return compile_it(function, backend=backend, **keys)

    def step(x, number):
        return x * number

    monkeypatch.setattr(torch, "compile", without_code)
    for size in (48, 96):
        program = compiled(step, "default", dynamic=None)
        for number in range(8):
            program(torch.ones(size), number)
    # Programs of the first numbers, and one of all others, which is given the number but no size.
    first, second = unknown[: len(unknown) // 2], unknown[len(unknown) // 2 :]
    assert first == second
    assert set(first[:-1]) == {0}
    assert first[-1] == 1


@pytest.mark.usefixtures("unpatched")
def test_draws_share_binaries_and_no_choices(tmp_path):
    found = []
    for draw in ("1", "2"):
        use_compile_cache(str(tmp_path / draw), is_compiled=False)
        names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        found.append([os.environ[name] for name in names])
    shared = str(tmp_path / "triton")
    assert found == [[str(tmp_path / "1"), shared], [str(tmp_path / "2"), shared]]


@pytest.mark.usefixtures("unpatched")
def test_sizes_share_no_code(tmp_path):
    """With a dynamic shape it was tuned for the size that was compiled first."""
    found = []
    for size in ("", "rows=8", "rows=16", "rows=8"):
        use_compile_cache(str(tmp_path), is_compiled=False, size=size)
        found.append(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert len(set(found)) == 3
    assert found[1] == found[3]
    assert all(folder.startswith(str(tmp_path)) for folder in found)


@pytest.mark.usefixtures("unpatched")
def test_what_is_only_loaded_starts_no_processes_that_compile(monkeypatch, tmp_path):
    from torch._inductor import config

    config.compile_threads = 7
    found = []
    for is_compiled in (False, True, False):
        use_compile_cache(str(tmp_path), is_compiled=is_compiled)
        found.append(config.compile_threads)
    monkeypatch.setenv("BENCH_COMPILES_ON_ONE_THREAD", "1")
    use_compile_cache(str(tmp_path), is_compiled=False)
    assert [*found, config.compile_threads] == [7, 1, 7, 1]


def test_candidates_are_timed_by_one_process_at_a_time(monkeypatch, tmp_path):
    benchmarking = pytest.importorskip("torch._inductor.runtime.benchmarking", exc_type=ImportError)
    file = tmp_path / "turns"

    def is_taken() -> bool:
        with file.open("ab") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    class Kind:
        def benchmark_gpu(self):
            return is_taken()

    for kind in [kind for kind in vars(benchmarking).values() if isinstance(kind, type)]:
        for name in {"benchmark_gpu", "benchmark_gpu_with_cuda_graph"} & vars(kind).keys():
            monkeypatch.setattr(kind, name, vars(kind)[name])  # set again at the end
    monkeypatch.setattr(benchmarking, "Kind", Kind, raising=False)
    monkeypatch.setenv("BENCH_TUNES_IN_TURNS", str(file))
    capturing.tunes_in_turns.cache_clear()
    assert capturing.tunes_in_turns()
    assert Kind().benchmark_gpu()
    assert not is_taken()
    with turns.alone():
        assert is_taken()
        assert Kind().benchmark_gpu()
        assert is_taken()


@pytest.fixture
def unpatched(monkeypatch):
    """Forget what a compile cache changes: environment, the compiler's check, its processes."""
    vector_instructions = pytest.importorskip("torch._inductor.cpu_vec_isa", exc_type=ImportError)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.setenv("TRITON_CACHE_DIR", "")
    monkeypatch.setattr(vector_instructions.VecISA, "check_build", lambda _self, _code: True)
    inductor = pytest.importorskip("torch._inductor.config", exc_type=ImportError)
    for cached in (capturing._keep_vector_checks, capturing._compile_threads):
        cached.cache_clear()
    with inductor.patch(compile_threads=inductor.compile_threads):
        yield vector_instructions
    for cached in (capturing._keep_vector_checks, capturing._compile_threads):
        cached.cache_clear()


def test_what_was_built_with_vector_instructions_is_not_built_again(
    unpatched, monkeypatch, tmp_path
):
    answers, asked = [False, True, False], []

    def check_build(self, code):
        asked.append((self.build_arch_flags(), code))
        return answers.pop(0)

    isa = unpatched.VecAVX2()
    for process in ("1", "2"):
        monkeypatch.setattr(unpatched.VecISA, "check_build", check_build)
        capturing._keep_vector_checks.cache_clear()
        use_compile_cache(str(tmp_path / f"case{process}"), is_compiled=False)
        use_compile_cache(str(tmp_path / "another_case"), is_compiled=False)
        found = [isa.check_build("code") for _ in range(2)]
        assert found == ([False, True] if process == "1" else [True, True])
    flags = isa.build_arch_flags()
    assert asked == [(flags, "code")] * 2, "a no is asked again, a yes is kept"
    monkeypatch.setattr(isa, "_arch_flags", f"{flags} -mnew")
    assert not isa.check_build("code"), "with other options"
    assert asked[2:] == [(f"{flags} -mnew", "code")]


@pytest.mark.parametrize(("steps", "runs"), [(0, 3), (1, 3), (2, 2), (3, 1), (938, 1)])
def test_each_step_runs_three_times_before_its_capture(monkeypatch, steps, runs):
    stream = SimpleNamespace(wait_stream=lambda _: None)
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    done = []
    run_on_side_stream(lambda: done.append(1), steps)
    assert len(done) == runs


@needs_gpu
def test_a_graph_outlives_older_graphs_and_the_compilers_clearing():
    """As when a case is closed, another stays open, and a third is compiled with CUDA graphs."""
    # One that cuBLAS splits along the inner dimension, which takes a workspace.
    a, b = (torch.randn(shape, device="cuda") for shape in ((64, 8192), (8192, 64)))
    expected = a @ b

    def captured():
        run_on_side_stream(lambda: a @ b)
        return capture(lambda: a @ b)

    older, graph = captured(), captured()
    del older
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    taken = [torch.full((1 << 20,), float("nan"), device="cuda") for _ in range(100)]
    for _ in range(3):
        graph.result.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.allclose(graph.result, expected, rtol=1e-4, atol=1e-3)
    assert all(t.isnan().all() for t in taken)
