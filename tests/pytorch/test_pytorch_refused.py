"""Cases that a worker does not open: what it skips, what fails, and the reasons, of all workloads."""

import pytest

pytest.importorskip("torch")

GOOD = {
    "mlp_train": {"width": 8, "depth": 3, "batch": 700, "epochs": 2, "rate": 0.5, "seed": 1},
}
GRAPHS = {
    "mlp_infer": ["graph", "overlap", "compile_graph", "compile_overlap", "mapped"],
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
        ("mlp_train", "f16", "only f32, tf32 are written for PyTorch"),
    ],
)
def test_other_dtypes_are_skipped(worker, workload, dtype, where):
    answer = answer_to(worker, workload, dtype=dtype)
    assert answer == {"status": "skipped", "id": "c", "reason": f"dtype {dtype}: {where}"}


@pytest.mark.parametrize(("workload", "dtype"), [("mlp_train", "tf32")])
@pytest.mark.only_on("cpu")
def test_dtypes_of_a_gpu_are_skipped_without_one(worker, workload, dtype):
    answer = answer_to(worker, workload, dtype=dtype)
    reason = f"dtype {dtype}: only f32 is written for PyTorch on the CPU"
    assert answer == {"status": "skipped", "id": "c", "reason": reason}


@pytest.mark.parametrize(
    ("workload", "name", "value", "expected"),
    [
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
