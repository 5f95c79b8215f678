"""Philox in NumPy against the numbers that all languages share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
import philox  # noqa: E402 -- needs NumPy

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "philox.json").read_text())


def hexadecimal(words: str) -> list[int]:
    return [int(word, 16) for word in words.split()]


@pytest.mark.parametrize("vector", KNOWN["vectors"], ids=lambda vector: vector["counter"])
def test_block_is_the_published_one(vector):
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


@pytest.mark.parametrize("known", KNOWN["permutations"], ids=lambda known: len(known["order"]))
def test_permutation(known):
    order = known["order"]
    made = philox.permutation(len(order), int(known["seed"], 16), known["stream"])
    assert made.dtype == np.uint32
    assert made.tolist() == order


def test_parts_join_to_the_whole():
    whole = philox.words(42, 1, 0, 50)
    for first in range(9):
        for count in range(9):
            part = philox.words(42, 1, first, count)
            assert part.tolist() == whole[first : first + count].tolist()


def test_chunks_join_to_the_whole():
    # More than one chunk, an odd end, an odd start.
    n = 2 * philox._CHUNK_WORDS + 3
    values = np.empty(n, dtype=np.float32)
    philox.fill_uniform(values, 42, 1, -1.0, 1.0, first=5)
    expected = (philox.words(42, 1, 5, n) >> 8).astype(np.float32) * np.float32(2.0**-23) - 1
    assert np.array_equal(values, expected)


def test_uniform_fills_rows_in_order():
    matrix = philox.uniform((3, 5), 42, 16, -0.5, 0.5)
    assert matrix.reshape(-1).tolist() == philox.uniform((15,), 42, 16, -0.5, 0.5).tolist()


def test_fill_refuses_what_it_cannot_fill_in_order():
    with pytest.raises(ValueError, match="contiguous"):
        philox.fill_uniform(np.empty((4, 4), dtype=np.float32).T, 42, 1, 0.0, 1.0)
