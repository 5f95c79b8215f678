"""Philox in Python, by C and by NumPy, against the numbers that all implementations share."""

import json
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
import native  # noqa: E402 -- these need NumPy
import philox  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "philox.json").read_text())


@pytest.fixture(autouse=True, params=["C", "NumPy"])
def computed_by(request, monkeypatch):
    if request.param == "NumPy":
        for name in ("_words", "_uniform"):
            monkeypatch.setattr(native, name, None)
    elif native._words is None:
        pytest.fail("there is no build/libinputs.so: make builds it with bench")


def hexadecimal(words: str) -> list[int]:
    return [int(word, 16) for word in words.split()]


@pytest.mark.parametrize("vector", KNOWN["vectors"], ids=lambda vector: vector["counter"])
def test_block_matches_the_published_vector(vector):
    block = philox.philox4x32_10([hexadecimal(vector["counter"])], hexadecimal(vector["key"]))
    assert block.tolist() == [hexadecimal(vector["out"])]


@pytest.mark.parametrize("known", KNOWN["words"], ids=str)
def test_word_at_any_position(known):
    seed, expected = int(known["seed"], 16), int(known["word"], 16)
    assert philox.words(seed, known["stream"], known["index"], 1).tolist() == [expected]


@pytest.mark.parametrize("known", KNOWN["uniforms"], ids=str)
def test_uniform_to_the_bit(known):
    values = np.empty(len(known["bits"]), dtype=np.float32)
    seed = int(known["seed"], 16)
    low, high = known["low"], known["high"]
    philox.fill_uniform(values, seed, known["stream"], low, high, known["first"])
    assert [f"{word:08x}" for word in values.view(np.uint32)] == known["bits"]


def test_parts_match_the_whole():
    whole = philox.words(42, 1, 0, 50)
    for first in range(9):
        for count in range(9):
            part = philox.words(42, 1, first, count)
            assert part.tolist() == whole[first : first + count].tolist()


@pytest.mark.parametrize("chunks", [2, 20], ids=["by one thread", "by several"])
def test_chunks_match_the_whole(chunks):
    # With an odd start and an odd end.
    n = chunks * philox.CHUNK_WORDS + 3
    values = np.empty(n, dtype=np.float32)
    philox.fill_uniform(values, 42, 1, -1.0, 1.0, first=5)
    expected = (philox.words(42, 1, 5, n) >> 8).astype(np.float32) * np.float32(2.0**-23) - 1
    assert np.array_equal(values, expected)


def test_uniform_fills_rows_in_order():
    matrix, row = (np.empty(shape, dtype=np.float32) for shape in ((3, 5), (15,)))
    for values in (matrix, row):
        philox.fill_uniform(values, 42, 16, -0.5, 0.5)
    assert matrix.reshape(-1).tolist() == row.tolist()


def test_fill_refuses_a_noncontiguous_array():
    with pytest.raises(ValueError, match="contiguous"):
        philox.fill_uniform(np.empty((4, 4), dtype=np.float32).T, 42, 1, 0.0, 1.0)
