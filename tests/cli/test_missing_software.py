"""Missing software is reported with its remedy and skips only what needs it."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from project import ROOT, bench, compiler_options, make_root, null_sweep, read_cases, write_sweep

EAGER = {"engine": "pytorch", "device": ["cpu", "cuda"], "variants": ["eager"]}
OMP = {"engine": "cpu", "variants": ["omp"]}


def check_without_pytorch(folder: Path, reason: str, **environment: str) -> None:
    """Check that both PyTorch cases are skipped with this reason, in one line; the others run."""
    sweep = write_sweep(folder / "s.json", "mlp_infer", [EAGER, OMP], axes={"batch": [1, 2]})
    bench("run", sweep, "--out", folder / "run", **environment)
    reasons = set()
    for case in read_cases(folder / "run").values():
        assert case["status"] == ("skipped" if case["engine"] == "pytorch" else "ok")
        reasons |= {case["reason"]} - {None}
    (found,) = reasons  # the same for all
    assert found.startswith(reason)
    assert "\n" not in found


def make_python(folder: Path, options: str) -> str:
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return str(python)


def ask_doctor(**environment: str) -> dict[str, dict[str, object]]:
    done = bench("doctor", "--json", **environment)
    return {item["what"]: item for item in json.loads(done.stdout)}


def test_no_gnuplot_prints_how_to_install_it(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    finished = tmp_path / "run"
    bench("run", sweep, "--out", finished)
    (tmp_path / "bin").mkdir()
    out = tmp_path / "charts"
    done = bench("plot", finished, "--out", out, expect=2, PATH=str(tmp_path / "bin"))
    assert "gnuplot" in done.stderr
    assert "apt-get install gnuplot-nox" in done.stderr
    bench("report", finished, "--out", tmp_path / "REPORT.md", PATH=str(tmp_path / "bin"))


def test_no_pytorch_skips_its_cases(tmp_path: Path) -> None:
    python = make_python(tmp_path, "-S -E")
    reason = "PyTorch is not installed for this Python: "
    check_without_pytorch(tmp_path, reason, BENCH_PYTHON=python)


def test_no_python_skips_the_cases_of_pytorch(tmp_path: Path) -> None:
    reason = "$BENCH_PYTHON is not a program (/no/such/python): unset it"
    check_without_pytorch(tmp_path, reason, BENCH_PYTHON="/no/such/python")


def test_no_python_on_the_path(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    if (root / ".venv").is_symlink():
        (root / ".venv").unlink()
    (tmp_path / "bin").mkdir()
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [EAGER], axes={"batch": [1]})
    nothing = {"PATH": str(tmp_path / "bin"), "BENCH_PYTHON": ""}
    bench("run", sweep, "--out", tmp_path / "run", root=root, **nothing)
    for case in read_cases(tmp_path / "run").values():
        assert case["status"] == "skipped"
        assert case["reason"] == "no python3 on $PATH: apt-get install python3"


# ---- CUDA's headers ------------------------------------------------------------------------------


def test_a_part_of_the_headers_is_missing(tmp_path: Path) -> None:
    """One of NVIDIA's wheels is installed and another is not: skipped, nothing cached."""
    if compiler_options() != ["--compiler", "nvrtc"]:
        pytest.skip("NVRTC is not installed")
    library = Path(str(ask_doctor(BENCH_PYTHON="none")["NVRTC"]["detail"]).split("(")[1][:-1])
    (tmp_path / "lib").mkdir()
    for file in library.parent.glob("libnvrtc*"):
        (tmp_path / "lib" / file.name).symlink_to(file)
    (tmp_path / "include").mkdir()
    header = tmp_path / "include" / "cuda_fp16.h"
    header.write_text("#include <nv/target>\n", encoding="utf-8")
    root = make_root(tmp_path / "project", copy="kernels")
    rung = root / "kernels" / "mlp_infer" / "01_study.cu"
    rung.write_text("#include <cuda_fp16.h>\n" + rung.read_text(encoding="utf-8"))
    cuda = {"engine": "cuda", "variants": ["01_study", "02_thread_per_sample"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [cuda], axes={"batch": [1]})
    command = ("compile", sweep, "--arch", "sm_80,sm_90", "--compiler", "nvrtc")
    here = {
        "BENCH_NVRTC": str(tmp_path / "lib" / library.name),
        "BENCH_CACHE": str(tmp_path / "cache"),
    }
    done = bench(*command, root=root, **here)
    assert "skipped: 2 programs: CUDA header nv/target not found: .venv/bin/pip" in done.stdout
    assert "2 of those skipped were not compiled" in done.stdout
    assert json.loads(bench(*command, "--json", root=root, **here).stdout)["lacking"] == 2
    header.write_text("", encoding="utf-8")
    assert "0 skipped, 0 failed" in bench(*command, root=root, **here).stdout


def test_nvcc_without_a_host_compiler(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").symlink_to(nvcc)
    cuda = {"engine": "cuda", "variants": ["01_study"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [cuda], axes={"batch": [1]})
    command = ("compile", sweep, "--arch", "sm_90", "--compiler", "nvcc")
    here = {"PATH": str(tmp_path / "bin"), "BENCH_CACHE": str(tmp_path / "cache")}
    done = bench(*command, **here)
    assert "skipped: 1 programs: nvcc needs a C++ compiler: apt-get install g++" in done.stdout


# ---- the doctor ----------------------------------------------------------------------------------


def test_doctor_lists_what_is_missing_and_its_remedy(tmp_path: Path) -> None:
    python = make_python(tmp_path, "-S -E")
    found = ask_doctor(BENCH_PYTHON=python)
    for what in ("NumPy", "PyTorch", "torch.compile"):
        assert not found[what]["found"]
        assert found[what]["detail"] and found[what]["costs"] and found[what]["install"]
    assert "-m pip install numpy" in str(found["NumPy"]["install"])
    nowhere = ask_doctor(BENCH_PYTHON="/no/such/python")
    assert "is not a program" in str(nowhere["torch.compile"]["detail"])


def test_doctor_without_nvrtc_and_gnuplot(tmp_path: Path) -> None:
    (tmp_path / "dnf").symlink_to("/bin/true")
    found = ask_doctor(PATH=str(tmp_path), BENCH_NVRTC="/no/such/library", BENCH_PYTHON="none")
    assert not found["NVRTC"]["found"] and not found["CUDA headers"]["found"]
    assert "\n" not in str(found["NVRTC"]["detail"])
    assert found["gnuplot"]["install"] == "dnf install gnuplot"


def test_plan_skips_what_every_engine_would_do_on_a_gpu() -> None:
    """Without a GPU: that a script is asked first changes nothing for who reads the plan."""
    if "cuda  0" in bench("list", "devices").stdout:
        pytest.skip("there is a GPU")
    lines = bench("plan", "sweeps/softmax.json", cwd=ROOT).stdout.splitlines()
    assert {line.split()[0] for line in lines[:-1]} == {"skip"}
    assert any("/pytorch-cuda/" in line for line in lines)
