"""mlp_infer through the worker: correct results, phases that add up, reasons for errors."""

import math
import re

import pytest

np = pytest.importorskip("numpy")
import philox  # noqa: E402 -- needs NumPy

GRAPH_MODES = ["graph", "overlap"]
COMPILED_GRAPH_MODES = ["compile_graph", "compile_overlap", "mapped"]
FAST_MODES = ["eager", "inference", *GRAPH_MODES]
ALL_MODES = [*FAST_MODES, *COMPILED_GRAPH_MODES]
SHAPES = [
    (1, [4, 5, 1]),
    (64, [4, 5, 1]),
    (1000, [4, 5, 1]),
    (3, [8, 16, 4]),
    (17, [3, 2]),
    (5, [2, 7, 7, 1, 3]),
]


def uniform(shape: tuple[int, ...], seed: int, stream: int, low: float, high: float) -> np.ndarray:
    values = np.empty(shape, dtype=np.float32)
    philox.fill_uniform(values, seed, stream, low, high)
    return values


def expected_output(
    batch: int, layers: list[int], seed: int, dtype: type = np.float32
) -> np.ndarray:
    """Compute y in float64 from the streams in docs/workloads.md."""
    y = uniform((batch, layers[0]), seed, 1, -1.0, 1.0).astype(dtype).astype(np.float64)
    last = len(layers) - 2
    for layer in range(last + 1):
        n_in, n_out = layers[layer : layer + 2]
        bound = float(np.float32(1 / math.sqrt(n_in)))
        weight = uniform((n_out, n_in), seed, 16 + 2 * layer, -bound, bound)
        bias = uniform((n_out,), seed, 17 + 2 * layer, -bound, bound)
        y = y @ weight.astype(dtype).astype(np.float64).T + bias.astype(dtype).astype(np.float64)
        if layer < last:
            y = np.maximum(y, 0.0)
    return y


def takes_gpu(variant="", **_):
    return variant in [*GRAPH_MODES, *COMPILED_GRAPH_MODES]


def open_ok(worker, variant, *shape, **keys):
    answer = worker.open(variant, *shape, **keys)
    assert answer["status"] == "ok", answer
    return answer


def check_output(worker, case_id, folder, expected, tolerance=1e-6):
    folder.mkdir(exist_ok=True)
    assert worker.ask("output", id=case_id, path=str(folder)) == {
        "status": "ok",
        "id": case_id,
        "arrays": ["y"],
    }
    y = np.load(folder / "y.npy")
    assert y.dtype == np.float32
    assert y.shape == expected.shape
    assert np.linalg.norm(y - expected) <= tolerance * np.linalg.norm(expected)


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
    expected = expected_output(batch, layers, 42)
    check_output(worker, opened["id"], tmp_path, expected)
    sampled = worker.sample(opened["id"])
    assert sampled["status"] == "ok"
    check_samples(opened, sampled, max_samples=5)
    check_output(worker, opened["id"], tmp_path, expected)
    assert worker.ask("close", id=opened["id"]) == {
        "status": "ok",
        "id": opened["id"],
        "results": {},
    }


@pytest.mark.long
def test_compile_handles_more_sizes_than_the_default_cache_limit(worker, tmp_path):
    sizes = range(1, 10)
    opened = [open_ok(worker, "compile", batch) for batch in sizes]
    for answer, batch in zip(opened, sizes, strict=True):
        assert answer["once_ns"]["compile"] > answer["once_ns"]["first_run"]
        check_output(worker, answer["id"], tmp_path, expected_output(batch, [4, 5, 1], 42))
        check_samples(answer, worker.sample(answer["id"]), max_samples=5)
    for answer in opened:
        assert worker.ask("close", id=answer["id"])["status"] == "ok"


@pytest.mark.parametrize("variant", ALL_MODES)
def test_phases_match_mode_and_device(worker, variant):
    opened = open_ok(worker, variant)
    expected = {"init"} if variant == "eager" else set()
    expected |= {"forward", "total", "residual", "host_to_host"}
    if worker.device == "cuda":
        copies = set() if variant == "mapped" else {"h2d", "d2h"}
        expected |= {"forward_device", *copies}
    assert set(opened["phases"]) == expected
    domains = {name: "host" for name in expected} | (
        {"forward_device": "device"} if worker.device == "cuda" else {}
    )
    assert opened["phases"] == domains
    assert opened["once_ns"]["first_run"] > 0
    if worker.device == "cuda":
        assert opened["resources"]["peak_device_bytes"] >= 64 * 5 * 4
    else:
        assert opened["resources"] == {}
    worker.ask("close", id=opened["id"])


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
        ("eager", 64, [4, 5, 1], 42),
        ("inference", 64, [4, 5, 1], 42),  # shares its inputs with the first
        ("inference", 64, [4, 5, 1], 43),
        ("eager", 64, [4, 6, 1], 42),
        ("inference", 65, [4, 5, 1], 42),
    ]
    ids = [open_ok(worker, *shape, seed=seed)["id"] for *shape, seed in specs]
    while ids:
        for case_id, (_, *shape, seed) in zip(ids, specs, strict=True):
            assert worker.sample(case_id)["status"] == "ok"
            check_output(worker, case_id, tmp_path, expected_output(*shape, seed))
        assert worker.ask("close", id=ids.pop(0))["status"] == "ok"
        del specs[0]


@pytest.mark.parametrize("variant", ALL_MODES)
def test_float16_rounds_inputs_and_weights(worker, tmp_path, variant):
    """The float16 output is close to that of the rounded data, not to the float32 output."""
    opened = open_ok(worker, variant, 257, [4, 5, 1], dtype="f16")
    expected = expected_output(257, [4, 5, 1], 42, np.float16)
    check_output(worker, opened["id"], tmp_path, expected, tolerance=2e-3)
    y = np.load(tmp_path / "y.npy")
    assert np.array_equal(y, y.astype(np.float16).astype(np.float32))
    worker.ask("close", id=opened["id"])


def test_an_id_can_be_used_again_after_close(worker, tmp_path):
    for batch in (2, 9):
        open_ok(worker, "eager", batch, id="again")
        check_output(worker, "again", tmp_path, expected_output(batch, [4, 5, 1], 42))
        assert worker.ask("close", id="again")["status"] == "ok"


def test_profiling_does_not_change_answers(worker):
    opened = worker.open(id="c", profile=True)
    check_samples(opened, worker.sample("c"), max_samples=5)
    worker.ask("close", id="c")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"batch": 1 << 50}, "does not fit into host memory: .*16.0 PiB"),
    ],
    ids=["memory"],
)
def test_unsupported_case_is_skipped(worker, case, reason):
    answer = worker.open(id="c", **case)
    assert set(answer) == {"status", "id", "reason"}
    assert (answer["status"], answer["id"]) == ("skipped", "c")
    assert re.search(reason, answer["reason"]), answer["reason"]
    assert worker.open(id="c")["status"] == "ok", "the worker continues"
    worker.ask("close", id="c")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (
            {"workload": "chess"},
            "workload: expected mlp_infer or linreg_train or mnist_train or mlp_train or allocate, "
            "found chess",
        ),
        (
            {"variant": "fast"},
            "variant: expected eager or inference or compile or graph or compile_graph or overlap "
            "or compile_overlap or mapped, found fast",
        ),
        ({"engine": "cuda"}, "engine: expected pytorch, found cuda"),
        ({"device": "abacus"}, "device: expected {device}, found abacus"),
        ({"techniques": {"copy": "pinned"}}, "techniques: expected none for pytorch, found copy"),
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
    check_output(worker, "c", tmp_path, expected_output(2, [4, 5, 1], 42))
    worker.ask("close", id="c")


def test_program_is_refused(worker):
    answer = worker.open(id="c", program={"cubin": "x"})
    reason = "program: expected null: pytorch loads no programs"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


def test_output_needs_an_existing_folder(worker, tmp_path):
    open_ok(worker, "eager", id="c")
    missing = str(tmp_path / "missing")
    answer = worker.ask("output", id="c", path=missing)
    assert answer == {"status": "failed", "id": "c", "reason": f"path: {missing} is not a folder"}
    worker.ask("close", id="c")
