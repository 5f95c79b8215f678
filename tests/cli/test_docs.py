"""README and docs match the program.

Commands and options exist, the results format matches a real run, links are valid, and the kernel
and the contender of the guides work as printed.
"""

import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_tables import Table, compare, paths, text_of
from project import BENCH, ROOT, bench, compiler_options, ran, read_lines

pytestmark = pytest.mark.usefixtures("warm_workers")

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGE_IDS = [page.name for page in PAGES]
# Examples that a guide has its reader create, and a folder that stands for any.
MADE_BY_THE_READER = {
    "kernels/mlp_infer/90_grid_stride.cu",
    "kernels/layer_norm/",
    "tests/fuzz/corpus/TARGET",
}
ONE_OF_THE_ENVIRONMENT = (
    {"GPU", "PyTorch", "changes", "git", "PyTorch, JAX"}
    | {"none forked", "described"}
    | {f"`--{option}`" for option in ("against", "devices", "isolate", "lock-clocks", "quick")}
)


def ok(*arguments: str | Path, root: Path = ROOT) -> str:
    # Workers need NumPy, which the Python of these tests may have; one that is named goes before.
    python = os.environ.get("BENCH_PYTHON", sys.executable)
    return bench(*arguments, root=root, cwd=ROOT, BENCH_PYTHON=python).stdout


# ---- commands and options ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """Return the options of each command from `bench help`."""
    overview = ok("help")
    commands = re.findall(r"^  ([a-z]+)  +\S", overview, re.MULTILINE)
    assert "run" in commands and "plot" in commands, overview
    return {
        name: set(re.findall(r"^  (--[a-z-]+)", ok("help", name), re.MULTILINE))
        for name in commands
    }


def command_lines(text: str) -> Iterator[list[str]]:
    """Words of each shell line that calls bench, and of each `bench …` in code font."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            call = re.search(r"(?:^|\s)build/bench\s+(.*)", line)
            if call:
                yield call[1].split("|")[0].split()
    for span in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        call = re.fullmatch(r"(?:build/)?bench\s+([a-z].*)", span)
        if call:
            yield call[1].split()


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_commands_and_options_exist(page: Path, options: dict[str, set[str]]) -> None:
    for words in command_lines(text_of(page)):
        if words[0] == "help":
            assert set(words[1:]) <= set(options), words
            continue
        assert words[0] in options, f"bench {' '.join(words)}: no such command"
        command = words[0]
        for word in words[1:]:
            if word == "--":
                command = "run"  # for which the rest is
            elif word.startswith("--"):
                assert word.split("=")[0] in options[command], f"bench {' '.join(words)}: {word}"


def test_pages_for_users_have_commands_of_every_kind() -> None:
    """The test above would pass on pages without commands."""
    pages = text_of(ROOT / "README.md") + text_of(ROOT / "docs" / "using.md")
    called = {words[0] for words in command_lines(pages)}
    assert {"run", "plan", "plot", "report", "compile", "workload", "doctor", "help"} <= called


def test_table_of_run_options(options: dict[str, set[str]]) -> None:
    _, _, rest = text_of(ROOT / "docs" / "using.md").partition("| option of `bench run` |")
    table = rest.partition("\n\n")[0]
    named = set(re.findall(r"`(--[a-z-]+)", table))
    assert len(named) > 10
    assert named <= options["run"]


def test_readme_shows_a_table_of_a_saved_run() -> None:
    tables = ok("report", ROOT / "results" / "h200_operators", "--print", "workloads")
    shown = re.findall(r"```text\n(.*?)```", text_of(ROOT / "README.md"), re.DOTALL)[0]
    assert tables.startswith(shown)
    assert max(len(line) for line in tables.splitlines()) <= 100


def test_readme_shows_the_picture_of_the_saved_runs() -> None:
    """`report --check` holds it against the runs."""
    assert "](REPORT.svg)" in text_of(ROOT / "README.md")


def test_readme_shows_the_screen_of_a_single_variant(tmp_path: Path) -> None:
    text = text_of(ROOT / "README.md")
    command, screen = re.findall(
        r"```text\n\$ build/bench (run [^\n]*)\n(.*?)```", text, re.DOTALL
    )[0]
    now = ok(*command.split(), "--quiet", "--time-limit", "100ms", "--out", tmp_path / "run")
    # What stands behind a label, and these, depend on the machine and on what else it does.
    ignored = {"passes", "stopped", "trust", "two", "warning"}
    lines = [
        [line.split() for line in one.splitlines() if line.split()[0] not in ignored]
        for one in (screen.strip(), now.strip())
    ]
    shown, found = ([words if words[0] == "phase" else words[0] for words in of] for of in lines)
    assert shown == found


def test_readme_is_short() -> None:
    assert len(text_of(ROOT / "README.md").splitlines()) < 150


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_sweeps_of_examples_exist(page: Path) -> None:
    for words in command_lines(text_of(page)):
        for word in words:
            if word.startswith(("sweeps/", "tests/")):
                assert (ROOT / word).is_file(), word


# ---- links ---------------------------------------------------------------------------------------


def heading_anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_paths_exist(page: Path) -> None:
    folders = "bench|kernels|tests|reference_(?:common|described|pytorch|python|jax)|sweeps|docs"
    paths = set(re.findall(rf"`((?:{folders})/[\w./+-]+)[:`]", text_of(page)))
    assert sorted(path for path in paths - MADE_BY_THE_READER if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_links_are_valid(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in heading_anchors(file), f"{page.name}: {target}"


# ---- the results format --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the null engine: two cases with synthetic times."""
    folder = tmp_path_factory.mktemp("format")
    words = "run --workload null --engine null --variant steady,bimodal --time-limit 1s"
    ok(*words.split(), "--shard", "1/1", "--no-jax", "--quiet", "--out", folder / "run")
    return folder / "run"


def cases_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "cases.jsonl").read_text("utf-8").splitlines()]


def test_run_json(run: Path) -> None:
    header = json.loads((run / "run.json").read_text("utf-8"))
    environment = header.pop("environment")
    sweeps = {f"sweeps[].{key}" for sweep in header["sweeps"] for key in sweep}
    compare({*header, *sweeps, "environment"}, Table("run.json", "key"), {"operators"})
    facts = Table("run.json", "key of `environment`")
    assert set(facts.note.values()) == {"always"} | ONE_OF_THE_ENVIRONMENT
    elsewhere = {key for key, where in facts.note.items() if where in ONE_OF_THE_ENVIRONMENT}
    compare(set(paths(environment)), facts, elsewhere)


def test_cases_jsonl(run: Path, tmp_path: Path) -> None:
    words = "run --workload mlp_infer --engine cuda --variant 01_study --time-limit 1s --quiet"
    ok(*words.split(), "--out", tmp_path / "cuda")
    described = json.loads((tmp_path / "cuda" / "run.json").read_text("utf-8"))
    assert {*described["operators"], *described["environment"]["operators"]} == {"mlp_infer"}
    found = {path for case in cases_of(run) + cases_of(tmp_path / "cuda") for path in paths(case)}
    # An unchecked case has null there, and a case without phases or techniques has {}.
    found -= {"check.before", "check.after", "once_ns", "phases", "techniques"}
    # tests/cli/test_sanitize.py has a run with these.
    sanitized = {"sanitize.version", "sanitize.case", "sanitize.tools.<name>"}
    only_joined = {"draws"}
    of_scripts = {"claims.n", "claims.ratio"}  # tests/cli/test_cheats.py
    of_operators = {"deterministic"}  # tests/cli/test_operator_checks.py
    in_c = {"phases.<name>.rewritten"}  # tests/cli/test_operator_c.py
    checks = {"check.before", "check.after"}
    optional = {*checks, *sanitized, *only_joined, *of_scripts, *of_operators, *in_c}
    compare(found, Table("cases.jsonl", "key"), optional)


def test_statuses_and_stops_are_listed(run: Path) -> None:
    """The vocabulary comes from the error messages of a reader."""
    table = Table("cases.jsonl", "key")
    for key, spoilt in (("status", "fine"), ("stop", "bored")):
        broken = run.parent / key
        shutil.copytree(run, broken)
        case = {**cases_of(run)[0], key: spoilt}
        (broken / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
        refused = bench("report", broken, "--out", broken / "r.md", expect=2).stderr
        words = re.findall(r"[a-z_]+", refused.partition("expected ")[2])
        expected = {word for word in words if word != "or"}
        assert len(expected) >= 5, refused
        assert expected == set(re.findall(r"`([a-z_]+)`", table.note[key])), key
        shutil.rmtree(broken)


def test_timings_csv(run: Path) -> None:
    header = (run / "timings.csv").read_text("utf-8").splitlines()[0].split(",")
    assert list(Table("timings.csv", "column").note) == header


# ---- the guides ----------------------------------------------------------------------------------


def blocks(page: str, languages: str) -> list[str]:
    text = text_of(ROOT / "docs" / page)
    return re.findall(rf"^```(?:{languages})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def block_with(words: str) -> str:
    """Return the block of the guide that has these words."""
    (found,) = [one for one in blocks("your-kernel.md", "cuda|json") if words in one]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the project's folder, to add files."""
    for name in ("kernels", "sweeps", "reference_common", "reference_pytorch"):
        shutil.copytree(ROOT / name, tmp_path / "project" / name)
    if (ROOT / ".venv").exists():
        (tmp_path / "project" / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path / "project"


def test_the_kernel_of_the_guide(project: Path) -> None:
    (project / "kernels/mlp_infer/90_grid_stride.cu").write_text(
        block_with("KERNEL(mlp_infer) {"), "utf-8"
    )
    sweep = project / "mine.json"
    sweep.write_text(block_with('"name": "mine"'), "utf-8")
    assert re.search(
        r"^mlp_infer +cuda +90_grid_stride$", ok("list", "variants", root=project), re.MULTILINE
    )
    options = ["--arch", "sm_75,sm_90", "--json", "--cache", project / "cache", *compiler_options()]
    done = json.loads(ok("compile", sweep, *options, root=project))
    programs = [program for program in done["programs"] if program["variant"] == "90_grid_stride"]
    assert {program["status"] for program in programs} == {"ok", "skipped"}
    assert all(
        program["reason"] == "needs exactly one hidden layer"
        for program in programs
        if program["status"] == "skipped"
    )


def test_the_operator_of_the_guide(tmp_path: Path) -> None:
    ok("workload", "new", "layer_norm", "--dir", tmp_path)
    folder = tmp_path / "layer_norm"
    text = text_of(ROOT / "docs" / "your-kernel.md")
    names = ["workload.json", "reference.py", "01_row_per_warp.cu", "one_pass.py"]
    for name, block in zip(names, blocks("your-kernel.md", "json|python|cuda"), strict=False):
        (folder / name).write_text(block, "utf-8")
    for name in ("01_element_per_thread.cu", "spelled_out.py"):
        (folder / name).unlink()
    archs = ["--arch", "sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"]
    options = [*archs, "--quick", "--json", "--cache", tmp_path / "cache", *compiler_options()]
    done = json.loads(ok("compile", "--workload", folder, *options))
    assert [program["status"] for program in done["programs"]] == ["ok"] * 7
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    printed = ok("workload", "check", folder)
    expected = re.findall(
        r"^\$ build/bench workload check [^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE
    )
    shown = expected[0].replace("kernels/layer_norm", str(folder))
    assert printed.splitlines()[2:] == shown.splitlines()[2:]
    sizes = ["--set", "rows=5", "--set", "cols=70", "--set", "dtype=f32,f16", "--set", "device=cpu"]
    run = ["--variant", "eager,one_pass", *sizes, "--quick", "--quiet", "--out", tmp_path / "run"]
    ok("run", "--workload", folder, *run)
    assert [case["status"] for case in cases_of(tmp_path / "run")] == ["ok"] * 4


def test_the_contender_of_the_guide(project: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not installed")
    (project / "reference_numpy").mkdir()
    shutil.copy(ROOT / "docs/numpy_worker.py", project / "reference_numpy/worker.py")
    sweep = project / "numpy.json"
    sweep.write_text(block_with('"name": "numpy"'), "utf-8")
    environment = {**os.environ, "BENCH_ROOT": str(project), "BENCH_PYTHON": sys.executable}
    ran(BENCH, "run", sweep, "--quick", "--quiet", "--out", tmp_path / "run", env=environment)
    own = [case for case in cases_of(tmp_path / "run") if case["engine"] == "numpy"]
    assert len(own) == 3
    for case in own:
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["after"]["ok"]
        assert case["phases"]["host_to_host"]["n"] >= 30


def test_the_reader_of_the_guide(run: Path) -> None:
    (script,) = blocks("results-format.md", "python")
    done = ran(sys.executable, "-c", script, run / "cases.jsonl")
    assert done.stdout.count(" kernel ") == len(read_lines(run))  # a line per pass of a case
