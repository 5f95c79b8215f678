"""./run_all.sh on a machine without a GPU, with programs in place of what it calls."""

import shutil
from pathlib import Path

import pytest
from project import ROOT, ran

BENCH = """#!/bin/sh
case $1 in
run) while [ "$1" != --out ]; do shift; done; mkdir -p "$2"; echo {{}} >"$2/cases.jsonl"; exit {run} ;;
compile) echo "1 programs: 0 compiled"; [ "$2" = --workload ] && exit {operator}; exit {sweeps} ;;
esac
"""


@pytest.mark.parametrize(
    ("run", "sweeps", "operator", "expected"),
    [
        (0, 0, 0, 0),
        (1, 0, 0, 1),  # a case is wrong or has failed
        (0, 1, 0, 1),  # a program does not compile
        (0, 0, 1, 1),
        (0, 2, 2, 0),  # no compiler, which is no error on a machine without a GPU
        (0, 1, 2, 1),
    ],
)
def test_exit_code(run: int, sweeps: int, operator: int, expected: int, tmp_path: Path) -> None:
    programs = {
        "run_all.sh": (ROOT / "run_all.sh").read_text("utf-8"),
        "tests/tools/setup.sh": "#!/bin/sh\n",
        "tests/tools/python.sh": "#!/bin/sh\necho true\n",
        "build/bench": BENCH.format(run=run, sweeps=sweeps, operator=operator),
        "Makefile": "features:\n",
    }
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    shutil.copytree(ROOT / "sweeps", tmp_path / "sweeps")
    done = ran(tmp_path / "run_all.sh", "--quick", "--out", "out", cwd=tmp_path, expect=expected)
    assert "report   out/REPORT.md" in done.stdout
