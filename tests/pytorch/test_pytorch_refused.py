"""Cases that a worker does not open, and the reasons."""

import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize(
    "variant", ["graph", "overlap", "compile_graph", "compile_overlap", "mapped"]
)
@pytest.mark.only_on("cpu")
def test_graphs_are_skipped_without_a_gpu(worker, variant):
    answer = worker.open(variant, id="c")
    assert answer == {"status": "skipped", "id": "c", "reason": "CUDA graphs need a GPU"}


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"live": 0}, "params.live: expected an integer from 1 to 1000000, found 0"),
        ({"live": 4.0}, "params.live: expected an integer from 1 to 1000000, found 4.0"),
        ({"live": 3, "colour": 3}, "params.colour: unknown; known: live"),
    ],
)
def test_params_that_are_wrong_fail(worker, params, reason):
    answer = worker.open("caching", id="c", workload="allocate", params=params)
    assert answer == {"status": "failed", "id": "c", "reason": reason}
