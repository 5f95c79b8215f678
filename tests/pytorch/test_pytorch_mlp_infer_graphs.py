"""The modes of mlp_infer with CUDA graphs, run on the CPU, and how cases take new inputs."""

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
from test_pytorch_mlp_infer import expected_output  # noqa: E402

import forward  # noqa: E402
import mlp_infer_graphs  # noqa: E402
from capturing import compiled  # noqa: E402
from device import CpuDevice  # noqa: E402
from mlp_infer import MODES  # noqa: E402
from mlp_infer_cases import MlpInputs  # noqa: E402
from mlp_infer_graphs import Mapped, device_view, equal_chunks, shrinking_chunks  # noqa: E402
from mlp_model import output_of  # noqa: E402
from timing import no_mark  # noqa: E402
from workload import CaseError, Skip  # noqa: E402

GRAPHS = ["graph", "compile_graph", "overlap", "compile_overlap", "mapped"]
DTYPES = {torch.float32: (np.float32, 1e-6), torch.float16: (np.float16, 2e-3)}
# Layers of few and of many inputs, alone and mixed.
LAYERS = [[4, 5, 1], [3, 2], [7, 8, 4], [2, 9, 7, 1, 3], [16, 16, 16]]


@pytest.fixture
def gpu(monkeypatch):
    # On the CPU a view of host memory on the device is that memory.
    monkeypatch.setattr(mlp_infer_graphs, "device_view", lambda host: host)
    return fake_gpu.install(monkeypatch, forward, mlp_infer_graphs)


def check(y, batch, layers, seed, dtype=torch.float32):
    numpy_dtype, tolerance = DTYPES[dtype]
    expected = expected_output(batch, layers, seed, numpy_dtype)
    assert y.shape == expected.shape
    assert np.linalg.norm(y - expected) <= tolerance * np.linalg.norm(expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_products_and_sums_are_the_same_model(layers, dtype):
    inputs = MlpInputs(17, layers, 42, dtype)
    weights = list(inputs.build_model(torch.device("cpu")).parameters())
    check(output_of(inputs.x, weights).detach().float().numpy(), 17, layers, 42, dtype)


@pytest.mark.long
@pytest.mark.parametrize("layers", LAYERS[:3], ids=str)
def test_small_layers_become_one_kernel(layers):
    from torch._inductor.utils import run_and_get_code

    inputs = MlpInputs(17, layers, 42)
    weights = list(inputs.build_model(torch.device("cpu")).requires_grad_(False).parameters())

    def forward(x):
        return output_of(x, weights)

    y, (code,) = run_and_get_code(compiled(forward, "default"), inputs.x)
    check(y.numpy(), 17, layers, 42)
    small = all(n_in < 8 for n_in in layers[:-1])
    assert ("extern_kernels" not in code.split("def call")[1]) == small


@pytest.mark.long
@pytest.mark.parametrize("dynamic", [True, False])
def test_one_compilation_serves_chunks_of_all_sizes(dynamic):
    from torch._dynamo.utils import counters

    weights = list(MlpInputs(1, [4, 5, 2], 1).build_model(torch.device("cpu")).parameters())

    def forward(x):
        return output_of(x, weights)

    before = counters["stats"]["unique_graphs"]
    with torch.inference_mode():
        function = compiled(forward, "default", dynamic=dynamic)
        for rows in (1024, 2048, 999):
            inputs = MlpInputs(rows, [4, 5, 2], 1)
            check(function(inputs.x).numpy(), rows, [4, 5, 2], 1)
    assert counters["stats"]["unique_graphs"] - before == (1 if dynamic else 3)


@pytest.mark.parametrize("batch", [1, 3, 64, 1001])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("variant", GRAPHS)
def test_every_probe_computes_the_output(gpu, variant, batch, dtype):
    case = MODES[variant](MlpInputs(batch, [4, 5, 1], 42, dtype), gpu, no_mark)
    check(case.output()["y"], batch, [4, 5, 1], 42, dtype)
    for probe in case.probes:
        assert set(probe().ns) <= set(case.phases)
        check(case.read()["y"], batch, [4, 5, 1], 42, dtype)


@pytest.mark.parametrize("variant", GRAPHS)
def test_new_inputs_are_used_without_another_capture(gpu, variant):
    case = MODES[variant](MlpInputs(33, [4, 5, 2], 1), gpu, no_mark)
    captured = fake_gpu.Replay.captured
    for seed in (2, 3):
        case.load(MlpInputs(33, [4, 5, 2], seed))
        for probe in case.probes:
            probe()
            check(case.read()["y"], 33, [4, 5, 2], seed)
        check(case.output()["y"], 33, [4, 5, 2], seed)
    assert fake_gpu.Replay.captured == captured == 3


@pytest.mark.parametrize("variant", GRAPHS)
def test_many_forward_passes_in_a_graph_give_the_time_of_one(gpu, variant):
    case = MODES[variant](MlpInputs(33, [4, 5, 2], 1), gpu, no_mark)
    passes = case._n_repeats
    assert passes == 256  # each takes a microsecond by the fake clock, and 400 µs are the aim
    by_phase = {phase: ns for probe in case.probes for phase, ns in probe().ns.items()}
    assert by_phase["forward_graph"] == 1000 / passes
    assert case.phases["forward_graph"] == "device"


@pytest.mark.parametrize("variant", ["eager", "inference"])
def test_new_inputs_on_the_cpu(variant):
    case = MODES[variant](MlpInputs(33, [4, 5, 2], 1), CpuDevice(), no_mark)
    case.load(MlpInputs(33, [4, 5, 2], 2))
    for probe in case.probes:
        probe()
        check(case.read()["y"], 33, [4, 5, 2], 2)


def test_new_inputs_are_used_without_another_compilation():
    from torch._dynamo.utils import counters

    case = MODES["compile"](MlpInputs(33, [4, 5, 2], 1), CpuDevice(), no_mark)
    compiled_before = counters["stats"]["unique_graphs"]
    case.load(MlpInputs(33, [4, 5, 2], 2))
    for probe in case.probes:
        probe()
        check(case.read()["y"], 33, [4, 5, 2], 2)
    assert counters["stats"]["unique_graphs"] == compiled_before


def test_read_returns_what_the_last_run_left(gpu):
    """A copy, which later runs leave alone, and not another run."""
    case = MODES["graph"](MlpInputs(5, [4, 5, 1], 1), gpu, no_mark)
    case.probes[1]()
    first = case.read()["y"]
    case.load(MlpInputs(5, [4, 5, 1], 2))
    assert np.array_equal(case.read()["y"], first)
    case.probes[1]()
    check(case.read()["y"], 5, [4, 5, 1], 2)
    check(first, 5, [4, 5, 1], 1)


# ---- overlap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "chunks"),
    [(1, 1), (2, 2), (1 << 16, 2), (1 << 20, 4), (1 << 22, 8), (1 << 24, 16), (1 << 28, 16)],
)
def test_larger_outputs_have_more_equal_chunks(batch, chunks):
    sizes = equal_chunks(batch, 4 * batch)
    assert len(sizes) == chunks
    assert set(sizes) == {batch // chunks}


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
def test_chunks_are_copied_before_and_after_they_are_computed(gpu, monkeypatch, batch):
    quarter = -(-batch // 4)
    rows = [min(quarter, batch - at) for at in range(0, batch, quarter)]
    monkeypatch.setattr(mlp_infer_graphs, "equal_chunks", lambda *_: rows)
    order = []

    class Stream:
        def __init__(self, name):
            self.name = name

        def wait_stream(self, other):
            order.append(f"{self.name} after {other.name}")

    names = iter(["in", "out"])
    monkeypatch.setattr(torch.cuda, "Stream", lambda: Stream(next(names)))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream("compute"))
    case = MODES["overlap"](MlpInputs(batch, [4, 5, 1], 42), gpu, no_mark)
    n = len(case._chunks)
    assert sum(len(x) for _, x, _ in case._chunks) == batch
    # The memory of no output is free for the next chunk.
    assert len(case._whole_graph.result) == n
    order.clear()
    case.probes[1]()
    each = ["compute after in", "out after compute"]
    assert order == ["in after compute", *each * n, "compute after out"]


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


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("missing", [0, 3, 6])
def test_every_element_is_polled(gpu, monkeypatch, dtype, missing):
    case = Mapped(MlpInputs(7, [4, 5, 1], 42, dtype), gpu, no_mark)
    monkeypatch.setattr(mlp_infer_graphs, "_POLL_MOST_NS", 0)
    case._polled.fill()
    y = case._y_host.view(-1)
    assert y.isnan().all()
    nan = y[missing].clone()
    y.fill_(0)
    case._wait()
    y[missing] = nan
    with pytest.raises(CaseError, match="^the kernel ended without writing every output$"):
        case._wait()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [3, 65536, 150001])
def test_what_is_polled_is_random_nans_others_for_each_run(monkeypatch, dtype, size):
    y = np.zeros((size, 1), dtype)
    polled = mlp_infer_graphs.Polled(y)
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


def test_the_output_of_an_earlier_run_is_not_taken_for_this_one(gpu, monkeypatch):
    case = Mapped(MlpInputs(7, [4, 5, 1], 42), gpu, no_mark)
    case.probes[1]()
    monkeypatch.setattr(mlp_infer_graphs, "_POLL_MOST_NS", 0)
    monkeypatch.setattr(case._whole_graph, "replay", lambda: None)
    with pytest.raises(CaseError, match="^the kernel ended without writing every output$"):
        case.probes[1]()
