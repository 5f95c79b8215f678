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
        monkeypatch.setattr(native, "_words", None)
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


def test_parts_match_the_whole():
    whole = philox.words(42, 1, 0, 50)
    for first in range(9):
        for count in range(9):
            part = philox.words(42, 1, first, count)
            assert part.tolist() == whole[first : first + count].tolist()
