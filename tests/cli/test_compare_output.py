"""What `bench compare` prints and writes: tables, Markdown and JUnit, with any texts."""

import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from compare_runs import CPU, CUDA, OTHER, TORCH, Run, compare, refused, rerun
from make_pair import renamed
from project import bench

GOLDEN = Path(__file__).parent / "golden_compare"


@pytest.fixture
def base(tmp_path: Path) -> Run:
    run = Run(tmp_path / "base")
    run.write()
    return run


def slower(phases: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {**phase, "samples": [1.3 * value for value in phase["samples"]]}
        for name, phase in phases.items()
    }


def hostile(base: Run) -> Run:
    """Texts from files that XML, Markdown or a terminal would interpret."""
    candidate = rerun(base)
    candidate.scale(CUDA, 1.2)
    candidate.cases[CPU].update(
        status="failed", reason='<b>&"x" | `rm -rf` \x1b[31m ]]> \x01\ufffe', phases={}
    )
    odd = renamed(candidate.cases[OTHER], variant='<&">|`é')
    candidate.cases[odd["id"]] = odd
    return candidate


def test_junit_is_valid_xml_with_any_texts(base: Run, tmp_path: Path) -> None:
    answer = compare(base, hostile(base), "--junit", tmp_path / "x.xml", expect=1)
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    cases = suite.findall("testcase")
    assert suite.tag == "testsuite"
    assert int(suite.get("tests", "")) == len(cases) == len(answer["cases"])
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure")) == 2
    assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
    assert {case.get("name") for case in cases} == {case["id"] for case in answer["cases"]}
    (failure,) = suite.findall(f"testcase[@name='{CUDA}']/failure")
    assert failure.get("type") == "regressed"
    assert "kernel_graph: " in (failure.text or "")


def test_markdown_keeps_its_table_with_any_texts(base: Run, tmp_path: Path) -> None:
    compare(base, hostile(base), "--markdown", tmp_path / "x.md", expect=1)
    text = (tmp_path / "x.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows} == {9}
    assert "<b>" not in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)


def test_markdown_fits_a_comment_and_counts_omitted_cases(base: Run, tmp_path: Path) -> None:
    candidate = rerun(base)
    case = base.cases[CUDA]
    for i in range(300):
        long = renamed(case, variant=f"{case['variant']}_{'long_' * 40}{i}")
        base.cases[long["id"]] = long
        candidate.cases[long["id"]] = {**long, "phases": slower(case["phases"])}
    base.write()
    compare(base, candidate, "--markdown", tmp_path / "x.md", expect=1)
    text = (tmp_path / "x.md").read_text(encoding="utf-8")
    assert len(text) < 65_536
    listed = set(re.findall(r"`(mlp_infer/cuda/\S*)`", text))
    left_out = re.search(r"(\d+) more cases are not shown\.", text)
    assert left_out
    assert listed
    shown = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    not_unchanged = len(candidate.cases) - compare(base, candidate, expect=1)["counts"]["unchanged"]
    assert len(shown) + int(left_out[1]) == not_unchanged


def test_nothing_is_written_when_refused(base: Run, tmp_path: Path) -> None:
    candidate = rerun(base)
    candidate.environment["gpu"]["driver"] = "1"
    refused(base, candidate, "--junit", tmp_path / "x.xml", "--markdown", tmp_path / "x.md")
    assert not (tmp_path / "x.xml").exists()
    assert not (tmp_path / "x.md").exists()


def test_all_shows_unchanged_cases(base: Run) -> None:
    candidate = rerun(base)
    candidate.write()
    short = bench("compare", base.folder, candidate.folder).stdout
    long = bench("compare", base.folder, candidate.folder, "--all").stdout
    assert CUDA not in short
    assert CUDA in long


@pytest.mark.parametrize("name", ["table.txt", "table.md", "junit.xml"])
def test_golden(base: Run, tmp_path: Path, name: str) -> None:
    """UPDATE_GOLDEN=1 rewrites the files: read the difference."""
    kept = (CUDA, OTHER, CPU, TORCH, "mlp_infer/cuda/03_vectorized/batch=8")
    base.cases = {key: base.cases[key] for key in kept}
    candidate = rerun(base)
    candidate.scale(CUDA, 1.2)["resources"].update(code_hash="00ff", registers=72, spill_bytes=16)
    candidate.scale(CPU, 0.7)
    candidate.environment["gpu"]["driver"] = "590.1"
    candidate.environment["git"]["revision"] = "f" * 40
    del candidate.cases[OTHER]
    base.write()
    candidate.write()
    done = bench(
        *("compare", "base", "candidate", "--allow", "driver"),
        *("--markdown", "table.md", "--junit", "junit.xml"),
        cwd=tmp_path,
        expect=1,
    )
    (tmp_path / "table.txt").write_text(done.stdout, encoding="utf-8")
    found = (tmp_path / name).read_text(encoding="utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(found, encoding="utf-8")
    assert found == (GOLDEN / name).read_text(encoding="utf-8")
