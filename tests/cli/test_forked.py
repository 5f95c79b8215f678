"""Workers of PyTorch and JAX are forks of a process that has imported the packages.

`tests/unit/test_forks.c` shows what a fork is, with packages that are quick to import; here are the
real ones.
"""

from pathlib import Path

import pytest
from project import NO_PYTHON, ROOT, bench, read_header, read_lines

pytest.importorskip("torch")

CASE = ("--workload", "mlp_infer", "--set", "device=cpu", "--set", "batch=16")
EAGER = ("--engine", "pytorch", "--variant", "eager")
SHORT = ("--time-limit", "100ms", "--quiet")
TWICE = ("--passes", "2")


@pytest.mark.parametrize(("engine", "variant"), [("pytorch", "eager"), ("jax", "jit")])
def test_each_pass_is_of_another_import(engine: str, variant: str, tmp_path: Path) -> None:
    """Their layouts of memory differ, as those of processes that are started."""
    out = tmp_path / "run"
    if engine == "jax" and not (ROOT / ".venv-jax").exists():
        pytest.skip("JAX is not installed: tests/tools/setup.sh check installs it into .venv-jax")
    contender = ("--engine", engine, "--variant", variant)
    bench("run", *CASE, *contender, *SHORT, *TWICE, "--out", out)
    environment, lines = read_header(out)["environment"], read_lines(out)
    assert [line["status"] for line in lines] == ["ok", "ok"]
    assert environment["measure"]["processes"] == "forked"
    assert "unforked" not in environment
    first, second = (line["once_ns"] for line in lines)
    assert first["import"] != second["import"]
    assert first["import"] > 0
    assert second["import"] > 0
    assert first["fork"] > 0
    assert second["fork"] > 0
    assert not any("void rounds" in flag for line in lines for flag in line["flags"])


def test_fresh_processes_import_for_themselves(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = (*CASE, *EAGER, *SHORT, "--out", out)
    bench("run", *options, *TWICE, "--processes", "fresh")
    first, second = (line["once_ns"] for line in read_lines(out))
    assert read_header(out)["environment"]["measure"]["processes"] == "fresh"
    assert first["import"] != second["import"]
    assert "fork" not in first
    told = bench("run", *options, *TWICE, "--resume", expect=2).stderr
    assert "was measured with --processes fresh: resume it with it" in told


@pytest.mark.parametrize(
    ("option", "processes"),
    [("--quick", "forked"), ("--isolate", None), ("--profile", None)],
)
def test_processes_that_are_timed_or_apart_are_started(
    option: str, processes: str | None, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    bench("run", *CASE, *EAGER, *SHORT, option, "--out", out, expect=None, **NO_PYTHON)
    assert read_header(out)["environment"]["measure"].get("processes") == processes


def test_what_is_compiled_has_a_process_of_its_own(tmp_path: Path) -> None:
    """With the compiler imported; what the run records of PyTorch's processes stands once."""
    out = tmp_path / "run"
    modes = ("--engine", "pytorch", "--variant", "eager,compile")
    bench("run", *CASE, *modes, *SHORT, "--passes", "1", "--out", out)
    lines, workers = read_lines(out), read_header(out)["environment"]["workers"]
    assert {line["variant"]: line["status"] for line in lines} == {"eager": "ok", "compile": "ok"}
    assert [name for name in workers if "oracle" not in name] == ["pytorch-cpu"]
    imports = {line["variant"]: line["once_ns"]["import"] for line in lines}
    assert imports["eager"] != imports["compile"]
