"""JAX's worker: its answers, known outputs, and that inputs are replaced without compiling."""

import subprocess
import sys
from pathlib import Path

import pytest
from jax_python import WORKER, ask_worker, needs_jax, open_request, run_program

np = pytest.importorskip("numpy")
import linreg_points  # noqa: E402 -- these need NumPy
import mlp_weights  # noqa: E402

LAYERS = [4, 5, 1]


def output_of(folder: Path, opening: dict) -> dict:
    """Return the arrays of a case."""
    answers = ask_worker(opening, {"op": "output", "id": "c", "path": str(folder)})
    assert [answer["status"] for answer in answers] == ["ok"] * 3, answers
    return {name: np.load(folder / f"{name}.npy") for name in answers[-1]["arrays"]}


@needs_jax()
def test_hello_describes_the_worker():
    (answer,) = ask_worker()
    assert answer["status"] == "ok"
    assert (answer["engine"], answer["device"]["kind"]) == ("jax", "cpu")
    assert answer["capabilities"] == {
        "mlp_infer": ["jit", "aot", "overlap"],
        "linreg_train": ["jit", "scan"],
        "mnist_train": ["jit", "scan"],
        "mlp_train": ["jit", "scan"],
    }
    assert {"jax", "jaxlib", "python", "numpy", "threads"} <= set(answer["versions"])
    assert answer["once_ns"]["import"] > 0
    assert answer["compiles"] == {}, "on the CPU XLA chooses nothing by timing"


@needs_jax()
@pytest.mark.parametrize("variant", ["jit", "aot"])
def test_known_inference(tmp_path, variant):
    params = mlp_weights.Params(9, LAYERS)
    w1, b1, w2, b2 = mlp_weights.start_weights(mlp_weights.layers_of(LAYERS), 42)
    x = mlp_weights.inputs(params, 42).astype(np.float64)
    expected = np.maximum(x @ w1.T + b1, 0) @ w2.T + b2
    found = output_of(tmp_path, open_request("mlp_infer", variant, params._asdict()))
    assert found["y"].dtype == np.float32
    np.testing.assert_allclose(found["y"], expected, rtol=1e-5, atol=1e-6)


@needs_jax()
@pytest.mark.parametrize("variant", ["jit", "scan"])
def test_known_regression(tmp_path, variant):
    points = linreg_points.Points(50, 42)
    x, y = points.x_train.astype(np.float64), points.y_train.astype(np.float64)
    w, b, losses = 0.83, 0.7645, []
    for epoch in range(13):
        off = w * x + b - y
        if epoch % 10 == 0:
            losses.append(np.mean(off**2))
        w, b = w - 0.01 * 2 * np.mean(off * x), b - 0.01 * 2 * np.mean(off)
    losses.append(np.mean((w * x + b - y) ** 2))
    test_loss = np.mean((w * points.x_test + b - points.y_test) ** 2)
    params = {"points": 50, "epochs": 13, "rate": 0.01}
    found = output_of(tmp_path, open_request("linreg_train", variant, params))
    np.testing.assert_allclose(found["params"], [w, b], rtol=1e-5)
    np.testing.assert_allclose(found["losses"], losses, rtol=1e-5)
    np.testing.assert_allclose(found["test_loss"], [test_loss], rtol=1e-4)


@needs_jax()
@pytest.mark.parametrize(
    ("options", "n"), [((), 8), pytest.param(("--all",), 18, marks=pytest.mark.long)]
)
def test_new_inputs_and_what_is_left_of_them(options, n):
    """refill, fresh samples, last and audit: `refilled.py` names what does not hold."""
    found = run_program(Path(__file__).with_name("refilled.py"), *options)
    assert found == dict.fromkeys(found, [])
    assert len(found) == n


@needs_jax()
def test_operators():
    """`operators_in_jax.py` names what does not hold of right ones, or is not said of wrong ones."""
    found = run_program(Path(__file__).with_name("operators_in_jax.py"))
    assert found == dict.fromkeys(found, [])
    assert len(found) == 37


@needs_jax()
@pytest.mark.long
@pytest.mark.parametrize("dtype", ["f16", "mixed"])
def test_a_training_in_float16_is_close_to_float32(dtype):
    """The workload allows 2.5 %; rounding a product before its bias alone makes 2.8 % here."""
    found = run_program(Path(__file__).with_name("f16_gradients.py"), dtype)
    assert {"gradient_0", "gradient_3", "losses", "descent"} <= set(found)
    assert max(found.values()) < 0.01, found


@needs_jax()
def test_compiled_code_is_kept_in_the_folder_of_the_request(tmp_path):
    folder = tmp_path / "not yet there"
    opening = open_request("mlp_infer", "aot", {"batch": 9, "layers": LAYERS})
    _, answer = ask_worker({**opening, "compile_cache": str(folder)})
    assert answer["status"] == "ok", answer
    kept = set(folder.iterdir())
    assert kept
    _, answer = ask_worker({**opening, "compile_cache": str(folder)})
    assert answer["status"] == "ok"
    programs = {path.name for path in folder.iterdir() if path.name.endswith("-cache")}
    assert programs == {path.name for path in kept if path.name.endswith("-cache")}


@needs_jax()
@pytest.mark.parametrize(
    ("opening", "reason"),
    [
        (("mlp_infer", "overlap", {"batch": 4, "layers": LAYERS}, "f32"), "no copies to overlap"),
        (("mlp_infer", "jit", {"batch": 4, "layers": LAYERS}, "tf32"), "f16 are written for JAX"),
        (("mlp_infer", "jit", {"batch": 1 << 50, "layers": LAYERS}, "f32"), "host memory: "),
    ],
    ids=["overlap", "dtype", "memory"],
)
def test_unsupported_cases_are_skipped(opening, reason):
    workload, variant, params, dtype = opening
    _, answer = ask_worker(open_request(workload, variant, params, dtype=dtype))
    assert answer["status"] == "skipped"
    assert reason in answer["reason"]


@needs_jax()
def test_the_last_batch_has_the_rest_of_the_images():
    assert max(run_program(Path(__file__).with_name("last_batch.py"))) < 1e-6


@needs_jax()
def test_a_diverging_training_fails_with_its_epoch():
    params = {"points": 4999, "epochs": 200, "rate": 1}
    _, answer = ask_worker(open_request("linreg_train", "scan", params))
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("loss is not finite from epoch ")


@needs_jax()
def test_without_a_gpu_hello_fails_with_the_reason(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (answer,) = ask_worker(device="cuda")
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
    done = subprocess.run(
        [sys.executable, "-S", str(WORKER), "--device", "cpu"],
        env={"PYTHONPATH": str(tmp_path)},
        input='{"op":"hello","protocol":2}\n',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert '"status":"failed"' in done.stdout
    assert f'"reason":"{reason}' in done.stdout
