"""Cases that a worker does not open: what it skips, what fails, and the reasons, of all workloads."""

import pytest

pytest.importorskip("torch")

GOOD = {
    "mnist_train": {"hidden": 16, "batch": 8, "steps": 5, "rate": 0.003, "seed": 1},
    "mlp_train": {"width": 8, "depth": 3, "batch": 700, "epochs": 2, "rate": 0.5, "seed": 1},
}
GRAPHS = {
    "mlp_infer": ["graph", "overlap", "compile_graph", "compile_overlap", "mapped"],
    "mnist_train": ["graph", "compile_graph", "manual_graph"],
    "mlp_train": ["graph", "compile_graph", "manual_graph"],
}


def answer_to(worker, workload, variant="eager", **keys):
    if workload in GOOD:
        keys = {"workload": workload, "params": GOOD[workload], **keys}
    return worker.open(variant, id="c", **keys)


@pytest.mark.parametrize(
    ("workload", "variant"), [(name, mode) for name, modes in GRAPHS.items() for mode in modes]
)
@pytest.mark.only_on("cpu")
def test_graphs_are_skipped_without_a_gpu(worker, workload, variant):
    answer = answer_to(worker, workload, variant)
    assert answer == {"status": "skipped", "id": "c", "reason": "CUDA graphs need a GPU"}


@pytest.mark.parametrize(
    ("workload", "dtype", "where"),
    [
        ("mnist_train", "f64", "only f16, mixed, f32 are written for PyTorch"),
        ("mlp_train", "f16", "only f32, tf32 are written for PyTorch"),
    ],
)
def test_other_dtypes_are_skipped(worker, workload, dtype, where):
    answer = answer_to(worker, workload, dtype=dtype)
    assert answer == {"status": "skipped", "id": "c", "reason": f"dtype {dtype}: {where}"}


@pytest.mark.parametrize(
    ("workload", "dtype"), [("mnist_train", "f16"), ("mnist_train", "mixed"), ("mlp_train", "tf32")]
)
@pytest.mark.only_on("cpu")
def test_dtypes_of_a_gpu_are_skipped_without_one(worker, workload, dtype):
    answer = answer_to(worker, workload, dtype=dtype)
    reason = f"dtype {dtype}: only f32 is written for PyTorch on the CPU"
    assert answer == {"status": "skipped", "id": "c", "reason": reason}


@pytest.mark.parametrize(
    ("workload", "name", "value", "expected"),
    [
        ("mnist_train", "hidden", 7, "an integer 8…16384"),
        ("mnist_train", "hidden", True, "an integer 8…16384"),
        ("mnist_train", "batch", 0, "an integer 1…4096"),
        ("mnist_train", "steps", 0, "an integer 1…1000000"),
        ("mnist_train", "rate", 0, "a number above 0 and at most 1"),
        ("mnist_train", "seed", 0, "an integer 1…2147483647"),
        ("mlp_train", "width", 0, "an integer 1…8192"),
        ("mlp_train", "depth", 1, "an integer 2…16"),
        ("mlp_train", "depth", 4.0, "an integer 2…16"),
        ("mlp_train", "batch", 60001, "an integer 1…60000"),
        ("mlp_train", "epochs", 0, "an integer 1…1000"),
        ("mlp_train", "rate", True, "a number above 0"),
        ("mlp_train", "seed", 0, "an integer 1…2147483647"),
    ],
)
def test_params_out_of_range_fail(worker, workload, name, value, expected):
    answer = answer_to(worker, workload, params={**GOOD[workload], name: value})
    found = repr(value) if isinstance(value, str) else value
    reason = f"params.{name}: expected {expected}, found {found}"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


@pytest.mark.parametrize("workload", GOOD)
def test_unknown_params_fail(worker, workload):
    answer = answer_to(worker, workload, params={**GOOD[workload], "colour": 3})
    reason = f"params.colour: unknown; known: {', '.join(GOOD[workload])}"
    assert answer == {"status": "failed", "id": "c", "reason": reason}


def test_a_batch_that_does_not_divide_the_images_fails(worker):
    answer = answer_to(worker, "mnist_train", params={**GOOD["mnist_train"], "batch": 7})
    reason = "batch 7 does not divide the 60000 training images"
    assert answer == {"status": "failed", "id": "c", "reason": reason}
