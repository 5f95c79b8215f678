"""The worker protocol: tests/fixtures/transcript.jsonl replayed with real workers.

"<text>" and "<number>" in an answer stand for values that depend on the machine, "<folder>" in a
request for an existing folder.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from project import BENCH, FIXTURES, ran

Exchange = dict[str, Any]


def read_transcript() -> list[list[Exchange]]:
    """Return one list of lines for each worker: its start, its exchanges, its end."""
    text = (FIXTURES / "transcript.jsonl").read_text(encoding="utf-8")
    sessions: list[list[Exchange]] = []
    for line in map(json.loads, text.splitlines()):
        if "start" in line:
            sessions.append([])
        sessions[-1].append(line)
    return sessions


SESSIONS = read_transcript()


def as_line(request: Any) -> str:
    """Return the request as sent: an object, or text that is not JSON."""
    if isinstance(request, str):
        return request
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"))


def fits(found: Any, expected: Any) -> bool:
    if expected == "<text>":
        return isinstance(found, str) and found != ""
    if expected == "<number>":
        return isinstance(found, (int, float)) and not isinstance(found, bool) and found >= 0
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(fits(found[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(itertools.starmap(fits, zip(found, expected, strict=True)))
        )
    return found == expected


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session[0]["start"])
def test_replay(session: list[Exchange], tmp_path: Path) -> None:
    _, *arguments = session[0]["start"].split()
    exchanges = session[1:-1]
    lines = [
        as_line(exchange["request"]).replace("<folder>", str(tmp_path)) for exchange in exchanges
    ]
    # Without bye, the end of stdin ends the worker.
    done = ran(BENCH, *arguments, input="".join(f"{line}\n" for line in lines), expect=None)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(exchanges)
    for exchange, answer in zip(exchanges, answers, strict=True):
        assert fits(answer, exchange["answer"]), f"{exchange['request']}: {answer}"
    assert done.returncode == session[-1]["exit"]
    written = any(exchange["answer"].get("arrays") for exchange in exchanges)
    assert bool(list(tmp_path.glob("*.npy"))) == written


def test_every_op_and_status_is_in_the_transcript() -> None:
    exchanges = [line for session in SESSIONS for line in session if "request" in line]
    requests = [line["request"] for line in exchanges if isinstance(line["request"], dict)]
    assert {request["op"] for request in requests} >= {
        "hello",
        "open",
        "output",
        "refill",
        "sample",
        "last",
        "trace_start",
        "trace",
        "close",
        "bye",
    }
    assert {line["answer"]["status"] for line in exchanges} == {"ok", "skipped", "failed"}


def test_mismatches_are_found() -> None:
    for found, expected in [
        ("", "<text>"),
        (5, "<text>"),
        ("5", "<number>"),
        (True, "<number>"),
        (-1, "<number>"),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({}, {"a": 1}),
        ([1, 2], [1]),
        ([], ["<number>"]),
        (1, 2),
        (None, {}),
    ]:
        assert not fits(found, expected)
