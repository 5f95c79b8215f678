"""The table of examples in docs/measuring.md is what its script prints of the published run."""

from __future__ import annotations

import subprocess
import sys

from project import ROOT

SCRIPT = ROOT / "tests" / "tools" / "measuring_examples.py"


def run(*arguments: str, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done.stdout


def test_page_has_the_numbers_of_the_published_run() -> None:
    page = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- examples: begin -->\n")
    table = rest.partition("<!-- examples: end -->\n")[0]
    printed = run(str(ROOT / "results" / "h200"))
    assert printed.count("\n") > 10
    assert table == printed, "renew it: tests/tools/measuring_examples.py results/h200 --write"


def test_wrong_arguments_are_a_usage_error() -> None:
    assert run(expect=2) == ""
    assert run("results/h200", "--print", expect=2) == ""
