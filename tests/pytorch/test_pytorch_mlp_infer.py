"""kernels/mlp_infer: its reference, and its cases through the worker from open to close."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import made_inputs  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402

import user_file  # noqa: E402
from capturing import compiled  # noqa: E402

FAST_MODES = ["eager", "inference", "graph", "overlap"]
ALL_MODES = [*FAST_MODES, "compile_graph", "compile_overlap", "mapped"]
SMALL = 4, 5, 1
SHAPES = [(1, SMALL), (1000, SMALL), (3, (8, 16, 4)), (17, (3, 2)), (5, (2, 7, 7, 1, 3))]
TOLERANCE = {"f32": 1e-6, "f16": 2e-3}
# Layers of few and of many inputs, alone and mixed.
LAYERS = [SMALL, (3, 2), (7, 8, 4), (2, 9, 7, 1, 3), (16, 16, 16)]


def takes_gpu(variant="", **_):
    return variant not in ("", "eager", "inference")


def expect_near(y, expected, dtype="f32"):
    assert y.shape == expected.shape
    assert np.linalg.norm(y - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected)


# ---- the reference ---------------------------------------------------------------------------------


@pytest.fixture
def reference():
    return user_file.load(operators.MLP, "reference", "of this test")


def made(folder, layers, dtype="f32"):
    """Return x, w and b as tensors, and the output in float64."""
    operator = operators.mlp(folder, 17, layers, dtype)
    inputs = made_inputs.make(folder, operator["arrays"], 42) / "0"
    x, w, b = operators.mlp_arrays(operator, inputs)
    tensors = torch.from_numpy(x), [*map(torch.from_numpy, w)], [*map(torch.from_numpy, b)]
    return *tensors, operators.mlp_output(operator, inputs)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_products_sums_and_modules_are_the_same_model(reference, tmp_path, layers, dtype):
    x, w, b, expected = made(tmp_path, layers, dtype)
    for fused in (False, True):
        expect_near(reference.reference(x, w, b, fused=fused).numpy(), expected, dtype)
    expect_near(reference.model(w, b)(x).detach().numpy(), expected, dtype)


@pytest.mark.long
@pytest.mark.parametrize("layers", LAYERS[:3], ids=str)
def test_small_layers_become_one_kernel(reference, tmp_path, layers):
    from torch._inductor.utils import run_and_get_code

    x, w, b, expected = made(tmp_path, layers)

    def forward(x):
        return reference.reference(x, w, b, fused=True)

    y, (code,) = run_and_get_code(compiled(forward, "default"), x)
    expect_near(y.numpy(), expected)
    small = all(n_in < 8 for n_in in layers[:-1])
    assert ("extern_kernels" not in code.split("def call")[1]) == small


# ---- the worker ------------------------------------------------------------------------------------


def open_ok(worker, variant, *shape, **keys):
    answer = worker.open(variant, *shape, **keys)
    assert answer["status"] == "ok", answer
    return answer


def check_output(worker, case_id, folder, batch, layers=SMALL, seed=42, dtype="f32"):
    assert worker.ask("output", id=case_id, path=str(folder)) == {
        "status": "ok",
        "id": case_id,
        "arrays": ["y"],
    }
    operator = worker.mlp(seed, batch, layers, dtype)
    y = np.load(folder / "y.npy")
    assert y.dtype == (np.float32 if dtype == "f32" else np.float16)
    inputs = Path(operator["folder"] + ".inputs", "0")
    expect_near(y, operators.mlp_output(operator, inputs), dtype)


def check_samples(opened, sampled, max_samples):
    phases = sampled["phases"]
    assert set(phases) == set(opened["phases"])
    for name, samples in phases.items():
        assert 1 <= len(samples) <= max_samples
        assert name == "residual" or min(samples) > 0
    parts = [phases[name] for name in ("init", "h2d", "forward", "d2h") if name in phases]
    sums = [sum(sample) for sample in zip(*parts, phases["residual"], strict=True)]
    assert sums == phases["total"]
    assert min(phases["residual"]) >= 0


@pytest.mark.parametrize("variant", ALL_MODES)
@pytest.mark.parametrize(("batch", "layers"), SHAPES, ids=str)
def test_output_is_correct_before_and_after_sampling(worker, tmp_path, variant, batch, layers):
    opened = open_ok(worker, variant, batch, layers)
    check_output(worker, opened["id"], tmp_path, batch, layers)
    sampled = worker.sample(opened["id"])
    assert sampled["status"] == "ok"
    check_samples(opened, sampled, max_samples=5)
    check_output(worker, opened["id"], tmp_path, batch, layers)
    for name, domain in opened["phases"].items():
        assert domain == ("device" if name in ("forward_device", "forward_graph") else "host")
    assert opened["once_ns"]["first_run"] > 0
    if worker.device == "cuda":
        assert opened["resources"]["peak_device_bytes"] >= 4 * batch * (layers[0] + layers[-1])
    else:
        assert opened["resources"] == {}
    closed = {"status": "ok", "id": opened["id"], "results": {}}
    assert worker.ask("close", id=opened["id"]) == closed


@pytest.mark.long
def test_compile_handles_more_sizes_than_the_default_cache_limit(worker, tmp_path):
    sizes = range(1, 10)
    opened = [open_ok(worker, "compile", batch) for batch in sizes]
    for answer, batch in zip(opened, sizes, strict=True):
        assert answer["once_ns"]["compile"] > answer["once_ns"]["first_run"]
        check_output(worker, answer["id"], tmp_path, batch)
        check_samples(answer, worker.sample(answer["id"]), max_samples=5)
    for answer in opened:
        assert worker.ask("close", id=answer["id"])["status"] == "ok"


def test_limits_of_a_round_are_respected(worker):
    case_id = open_ok(worker, "inference")["id"]
    long = {"budget_ns": 60_000_000_000, "warmup_samples": 7}
    sampled = worker.sample(case_id, max_samples=11, **long)
    assert {len(samples) for samples in sampled["phases"].values()} == {11}
    probes = 3 if worker.device == "cuda" else 2
    assert sampled["warmup"]["samples"] == 7 * probes
    sampled = worker.sample(case_id, max_samples=11, budget_ns=0)
    assert {len(samples) for samples in sampled["phases"].values()} == {1}
    worker.ask("close", id=case_id)


def test_open_cases_are_independent(worker, tmp_path):
    specs = [
        ("eager", 64, SMALL, 42),
        ("inference", 64, SMALL, 42),  # shares its inputs with the first
        ("inference", 64, SMALL, 43),
        ("eager", 64, (4, 6, 1), 42),
        ("inference", 65, SMALL, 42),
    ]
    ids = [open_ok(worker, *shape, seed=seed)["id"] for *shape, seed in specs]
    while ids:
        for case_id, (_, *shape, seed) in zip(ids, specs, strict=True):
            assert worker.sample(case_id)["status"] == "ok"
            check_output(worker, case_id, tmp_path, *shape, seed)
        assert worker.ask("close", id=ids.pop(0))["status"] == "ok"
        del specs[0]


@pytest.mark.parametrize("variant", ALL_MODES)
def test_float16_rounds_inputs_and_weights(worker, tmp_path, variant):
    opened = open_ok(worker, variant, 257, dtype="f16")
    check_output(worker, opened["id"], tmp_path, 257, dtype="f16")
    worker.ask("close", id=opened["id"])


def test_an_id_can_be_used_again_after_close(worker, tmp_path):
    for batch in (2, 9):
        open_ok(worker, "eager", batch, id="again")
        check_output(worker, "again", tmp_path, batch)
        assert worker.ask("close", id="again")["status"] == "ok"


def test_profiling_does_not_change_answers(worker):
    opened = worker.open(id="c", profile=True)
    check_samples(opened, worker.sample("c"), max_samples=5)
    worker.ask("close", id="c")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"workload": "chess"}, "workload: expected allocate, found chess"),
        ({"engine": "cuda"}, "engine: expected pytorch, found cuda"),
        ({"device": "abacus"}, "device: expected {device}, found abacus"),
        ({"techniques": {"copy": "pinned"}}, "techniques: expected none for pytorch, found copy"),
        ({"program": {"cubin": "x"}}, "program: expected null: pytorch loads no programs"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_invalid_case_fails_with_the_reason(worker, case, reason):
    answer = worker.open(id="c", **case)
    expected = reason.format(device=worker.device)
    assert answer == {"status": "failed", "id": "c", "reason": expected}
    assert worker.sample("c")["status"] == "failed", "the case is not open"


def test_requests_for_cases_that_are_not_open_fail(worker, tmp_path):
    requests = [worker.ask("output", id="c", path=str(tmp_path)), worker.ask("close", id="c")]
    for answer in [*requests, worker.sample("c")]:
        assert answer == {"status": "failed", "id": "c", "reason": "the case c is not open"}


def test_opening_twice_fails_and_keeps_the_first(worker, tmp_path):
    open_ok(worker, "eager", 2, id="c")
    answer = worker.open("eager", 3, id="c")
    assert answer == {"status": "failed", "id": "c", "reason": "the case c is already open"}
    check_output(worker, "c", tmp_path, 2)
    worker.ask("close", id="c")


def test_output_needs_an_existing_folder(worker, tmp_path):
    open_ok(worker, "eager", id="c")
    missing = str(tmp_path / "missing")
    answer = worker.ask("output", id="c", path=missing)
    assert answer == {"status": "failed", "id": "c", "reason": f"path: {missing} is not a folder"}
    worker.ask("close", id="c")
