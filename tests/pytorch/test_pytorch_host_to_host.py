"""Modes that hide their copies, run on the CPU: chunks that overlap, and mapped memory."""

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402

import forward  # noqa: E402
import host_to_host  # noqa: E402
import operator_modes  # noqa: E402
from capturing import compiled  # noqa: E402
from chunks import equal_chunks, shrinking_chunks  # noqa: E402
from host_to_host import count_chunks, device_view  # noqa: E402
from session import Session  # noqa: E402
from workload import CaseError, Skip  # noqa: E402


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a function that opens a case of kernels/mlp_infer."""
    session = Session("cpu")
    monkeypatch.setattr(session, "_device", fake_gpu.install(monkeypatch, forward, host_to_host))
    monkeypatch.setattr(session, "prepare", lambda _request: None)
    # On the CPU a view of host memory on the device is that memory.
    monkeypatch.setattr(operator_modes, "device_view", lambda host: host)

    def open_ok(mode, batch):
        opened = operators.Opened(session, operators.mlp(tmp_path / "mlp", batch), mode)
        assert opened.answer["status"] == "ok", opened.answer
        return opened

    return open_ok


# ---- overlap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "chunks"),
    [(1, 2), (1 << 16, 2), (1 << 20, 4), (1 << 22, 8), (1 << 24, 16), (1 << 28, 16)],
)
def test_larger_outputs_have_more_equal_chunks(batch, chunks):
    assert count_chunks(4 * batch) == chunks


@pytest.mark.parametrize(
    ("rows", "n", "expected"),
    [
        (1, 2, [1]),
        (1025, 2, [1024, 1]),
        (4096, 2, [2048, 2048]),
        (10000, 4, [3072, 3072, 3072, 784]),
        (3000, 16, [1024, 1024, 952]),
    ],
)
def test_equal_chunks_are_multiples_but_for_the_last(rows, n, expected):
    assert equal_chunks(rows, n) == expected


@pytest.mark.parametrize(
    ("rows", "in_bytes", "out_bytes", "expected"),
    [
        (1, 16, 4, [1]),
        (100000, 1600000, 400000, [100000]),
        (1 << 18, 1 << 22, 1 << 20, [196608, 65536]),
        (1 << 18, 1 << 20, 1 << 22, [65536, 196608]),
        (1 << 20, 1 << 24, 1 << 22, [724992, 242688, 80896]),
    ],
)
def test_chunks_shrink_towards_the_smaller_copy(rows, in_bytes, out_bytes, expected):
    assert shrinking_chunks(rows, in_bytes, out_bytes) == expected


@pytest.mark.parametrize("rows", [1, 1200, 65537, 1 << 20, 12345678])
@pytest.mark.parametrize(("columns_in", "columns_out"), [(4, 1), (1, 1), (2, 9), (2000, 10)])
def test_chunks_are_the_whole_batch(rows, columns_in, columns_out):
    sizes = shrinking_chunks(rows, 4 * rows * columns_in, 4 * rows * columns_out)
    assert sum(sizes) == rows
    assert min(sizes) > 0
    assert len(sizes) <= 6


@pytest.mark.parametrize("batch", [2, 7, 1001])
def test_chunks_are_copied_before_and_after_they_are_computed(opened, monkeypatch, batch):
    quarter = -(-batch // 4)
    rows = [min(quarter, batch - at) for at in range(0, batch, quarter)]
    monkeypatch.setattr(host_to_host, "equal_chunks", lambda *_: rows)
    order = []

    class Stream:
        def __init__(self, name):
            self.name = name

        def wait_stream(self, other):
            order.append(f"{self.name} after {other.name}")

    names = iter(["in", "out"])
    monkeypatch.setattr(torch.cuda, "Stream", lambda: Stream(next(names)))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream("compute"))
    case = opened("overlap", batch).case
    n = len(case._chunks)
    assert [len(y) for chunk in case._chunks for y in chunk.y_host] == rows
    # The memory of no output is free for the next chunk.
    assert len(case._whole_graph.result) == n
    order.clear()
    case.probes[1]()
    each = ["compute after in", "out after compute"]
    assert order == ["in after compute", *each * n, "compute after out"]


@pytest.mark.long
def test_one_compilation_serves_chunks_of_all_sizes(opened, monkeypatch):
    from torch._dynamo.utils import counters

    monkeypatch.setattr(forward, "compiled", lambda function, _mode: compiled(function, "default"))
    monkeypatch.setattr(host_to_host, "shrinking_chunks", lambda *_: [2048, 1024, 999])
    before = counters["stats"]["unique_graphs"]
    case = opened("compile_overlap", 4071)
    expected = operators.mlp_output(case.operator, case.inputs(0) / "0")
    np.testing.assert_allclose(case.output()["y"], expected, rtol=1e-4, atol=1e-6)
    assert counters["stats"]["unique_graphs"] - before == 1


# ---- mapped ----------------------------------------------------------------------------------------


def test_memory_that_cannot_be_mapped_is_skipped_with_the_reason():
    with pytest.raises(Skip, match="^PyTorch refuses mapped host memory: .+") as caught:
        device_view(torch.zeros(3))
    assert str(caught.value.__cause__).startswith(str(caught.value).partition(": ")[2])


def test_memory_that_is_copied_is_skipped(monkeypatch):
    monkeypatch.setattr(torch, "as_tensor", lambda owner, device: torch.tensor(owner.array))
    with pytest.raises(Skip, match="copies mapped host memory"):
        device_view(torch.zeros(3))


def test_memory_that_is_mapped_keeps_address_and_owner(monkeypatch):
    monkeypatch.setattr(torch, "as_tensor", lambda owner, device: torch.from_numpy(owner.array))
    host = torch.zeros(3, dtype=torch.float16)
    view = device_view(host)
    host[1] = 2
    assert view.tolist() == [0, 2, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [3, 65536, 150001])
def test_what_is_polled_is_random_nans_others_for_each_run(dtype, size):
    y = np.zeros((size, 1), dtype)
    polled = host_to_host.Polled(y)
    bits = y.view(f"u{y.itemsize}")
    before = bits.copy()
    polled.fill()
    assert np.isnan(y).all()
    assert np.signbit(y).all(), "arithmetic on a GPU makes positive ones"
    assert len(np.unique(bits)) > min(size, 1000) * 0.5, "three of 1023 are seldom equal"
    assert (bits == before).sum() <= max(1, 0.1 * size)
    assert not polled.is_written()
    written = bits.copy()
    for place in (0, size // 2, size - 1):
        y[:] = 0
        bits[place] = written[place]
        assert not polled.is_written()
    y[:] = 0
    assert polled.is_written()


def test_the_output_of_an_earlier_run_is_not_taken_for_this_one(opened, monkeypatch):
    case = opened("mapped", 7).case
    case.probes[1]()
    monkeypatch.setattr(host_to_host, "_POLL_MOST_NS", 0)
    monkeypatch.setattr(case._whole_graph, "replay", lambda: None)
    with pytest.raises(CaseError, match="^the kernel ended without writing every output$"):
        case.probes[1]()
