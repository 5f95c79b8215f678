"""JAX's worker: its answers, known outputs, and that inputs are replaced without compiling."""

import sys
from pathlib import Path

import made_inputs
import pytest
from jax_python import WORKER, Worker, needs_jax, run_program
from project import ran

np = pytest.importorskip("numpy")
sys.path.append(str(Path(__file__).resolve().parents[1] / "pytorch"))
import operator_cases as operators  # noqa: E402 -- these need NumPy


@pytest.fixture(scope="module")
def worker():
    with Worker() as started:
        yield started


def output_of(worker, folder, *opening, **keys):
    """Return the arrays of a case."""
    opened = worker.open(*opening, **keys)
    assert opened["status"] == "ok", opened
    answer = worker.ask("output", id="c", path=str(folder))
    assert answer["status"] == "ok", answer
    assert worker.ask("close", id="c")["status"] == "ok"
    return {name: np.load(folder / f"{name}.npy") for name in answer["arrays"]}


@needs_jax()
def test_hello_describes_the_worker(worker):
    answer = worker.hello
    assert answer["status"] == "ok"
    assert (answer["engine"], answer["device"]["kind"]) == ("jax", "cpu")
    assert answer["capabilities"] == {}
    assert {"jax", "jaxlib", "python", "numpy", "threads"} <= set(answer["versions"])
    assert answer["once_ns"]["import"] > 0
    assert answer["compiles"] == {}, "on the CPU XLA chooses nothing by timing"


@needs_jax()
@pytest.mark.parametrize("variant", ["jit", "aot"])
@pytest.mark.parametrize("layers", [(4, 5, 1), (20, 30, 7)], ids=["small", "wide"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-5), ("f16", 5e-3)])
def test_known_inference(worker, tmp_path, variant, layers, dtype, tolerance):
    operator = operators.mlp(tmp_path / "mlp", 9, layers, dtype)
    inputs = made_inputs.make(tmp_path / "inputs", operator["arrays"], 42)
    opening, keys = ("mlp_infer", variant, {}, dtype), {"operator": operator, "inputs": str(inputs)}
    y = output_of(worker, tmp_path, *opening, **keys)["y"]
    assert y.dtype == (np.float32 if dtype == "f32" else np.float16)
    expected = operators.mlp_output(operator, inputs / "0")
    np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


@needs_jax()
def test_operators(monkeypatch):
    """`operators_in_jax.py` names what does not hold of right ones, or is not said of wrong ones."""
    monkeypatch.setenv("OPERATOR_FILL", str(made_inputs.program_of_inputs()))
    found = run_program(Path(__file__).with_name("operators_in_jax.py"))
    assert found == dict.fromkeys(found, [])
    assert len(found) == 44


@needs_jax()
def test_compiled_code_is_kept_in_the_folder_of_the_request(tmp_path):
    folder = tmp_path / "not yet there"
    operator = operators.mlp(tmp_path / "mlp", 9, (4, 5, 1), "f32")
    inputs = made_inputs.make(tmp_path / "inputs", operator["arrays"], 42)
    keys = {"operator": operator, "inputs": str(inputs), "compile_cache": str(folder)}
    with Worker() as worker:
        assert worker.open("mlp_infer", "aot", {}, **keys)["status"] == "ok"
    kept = set(folder.iterdir())
    assert kept
    with Worker() as worker:
        assert worker.open("mlp_infer", "aot", {}, **keys)["status"] == "ok"
    programs = {path.name for path in folder.iterdir() if path.name.endswith("-cache")}
    assert programs == {path.name for path in kept if path.name.endswith("-cache")}


@needs_jax()
def test_without_a_gpu_hello_fails_with_the_reason(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with Worker("cuda") as worker:
        answer = worker.hello
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("no CUDA device (JAX ")
    assert "\n" not in answer["reason"]


@pytest.mark.parametrize(
    ("jax", "numpy", "reason"),
    [
        (None, "", "JAX is not installed for this Python: ./run_all.sh sets up .venv-jax with it"),
        ("__version__ = '0.10.2'", None, "NumPy is not installed for this Python: "),
        ("__version__ = '0.4.30'", "", "JAX 0.4.30 is older than 0.6: "),
    ],
)
def test_missing_packages_are_answered(tmp_path, jax, numpy, reason):
    for name, text in (("jax", jax), ("numpy", numpy)):
        if text is not None:
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    # -S: no site-packages, so that only these exist.
    done = ran(
        sys.executable,
        "-S",
        WORKER,
        "--device",
        "cpu",
        env={"PYTHONPATH": str(tmp_path)},
        input='{"op":"hello","protocol":2}\n',
    )
    assert '"status":"failed"' in done.stdout
    assert f'"reason":"{reason}' in done.stdout
