"""What a run left stays what it was, and is compared by its bits."""

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
from kept import Kept, same_bits  # noqa: E402 -- these need PyTorch

CPU = torch.device("cpu")
SIZES = (0, 1, 3, 8, 1000)


def kept(*outputs):
    return Kept(outputs, CPU, lambda found: {str(i): y.numpy() for i, y in enumerate(found)})


def test_later_runs_do_not_change_it():
    y = torch.arange(5.0)
    left = kept(y, y[::2])
    y.zero_()
    assert left()["0"].tolist() == [0, 1, 2, 3, 4]
    assert left()["1"].tolist() == [0, 2, 4]


class WithoutMemory:
    """An output that the device has no memory to copy."""

    def detach(self):
        return self

    def to(self, device, *, copy):
        assert copy
        if device != "cpu":
            raise torch.cuda.OutOfMemoryError
        return torch.ones(2)


def test_without_memory_on_the_device_it_is_in_that_of_the_host():
    assert kept(WithoutMemory())()["0"].tolist() == [1, 1]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.uint8, torch.int64, torch.bool]
)
@pytest.mark.parametrize("size", SIZES)
def test_one_bit_is_a_difference(dtype, size):
    a = torch.arange(size).to(dtype)
    assert same_bits(a, a.clone())
    assert kept(a, a).has_bits_of(kept(a.clone(), a))
    if size > 0:
        b = a.clone()
        b.view(torch.uint8)[-1] ^= 1
        assert not same_bits(a, b)
        assert not kept(a, a).has_bits_of(kept(a, b))


def test_bits_are_no_values():
    nan = torch.tensor([float("nan"), 1])
    assert same_bits(nan, nan.clone())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.zeros(2, 3), torch.zeros(3, 2))
    assert same_bits(torch.ones(3, 4).t(), torch.ones(4, 3)), "strides are no bits"
    assert not same_bits(torch.arange(6).view(2, 3).t(), torch.arange(6).view(3, 2))
