"""The table of examples in docs/measuring.md matches the output for the published run."""

import sys

from project import ROOT, ran, saved_runs

SCRIPT = ROOT / "tests" / "tools" / "measuring_examples.py"


def run(*arguments: str, expect: int = 0) -> str:
    return ran(sys.executable, SCRIPT, *arguments, expect=expect).stdout


def test_page_has_the_numbers_of_the_published_run() -> None:
    page = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- examples: begin -->\n")
    table = rest.partition("<!-- examples: end -->\n")[0]
    saved = next(name for name in saved_runs() if (ROOT / name / "mlp_infer.md").exists())
    printed = run(str(ROOT / saved))
    assert printed.count("\n") > 10
    assert table == printed, f"update it: tests/tools/measuring_examples.py {saved} --write"


def test_wrong_arguments_are_a_usage_error() -> None:
    assert run(expect=2) == ""
    assert run("results/h200", "--print", expect=2) == ""


def test_case_without_its_last_check_has_no_error() -> None:
    """An interrupted run may have one."""
    code = (
        "from measuring_examples import largest_error as largest\n"
        "def case(after): return {'lines': [{'dtype': 'f32', 'check': {'after': after}}]}\n"
        "print(largest({'a': case(None), 'b': case({'rel_l2': 2e-7})}, 'f32'))\n"
    )
    done = ran(sys.executable, "-c", code, cwd=SCRIPT.parent, expect=None)
    assert (done.returncode, done.stdout) == (0, "2e-07\n"), done.stderr
