"""bench workload new and check, and the options and lists that name operators."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest
from fake_driver import build_driver
from operators import write_operator
from project import ROOT, bench, compiler_options, make_root, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)
ARCHS = "sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project folder with writable kernels."""
    return make_root(tmp_path / "project", copy="kernels")


def refused(*arguments: str | Path, root: Path = ROOT) -> str:
    """Return the message of a command with wrong input."""
    return bench(*arguments, root=root, expect=2).stderr.strip().removeprefix("bench: ")


# ---- params ----------------------------------------------------------------------------------------

PICK = {
    "params": {"n": {"default": 64}, "k": {"default": 3}},
    "inputs": [
        {
            "name": "x",
            "shape": [1, 2, 1, 2, 1, 2, 1, "n"],
            "dtype": "T",
            "fill": {"normal": ["k", 1]},
        },
        {"name": "at", "shape": [5], "dtype": "i64", "fill": {"integers": [0, "n"]}},
    ],
    "outputs": [
        {"name": "y", "shape": [1, 2, 1, 2, 1, 2, 1, "k"], "dtype": "T"},
        {"name": "z", "shape": [1, 2, 1, 2, 1, 2, 1, 5], "dtype": "T"},
    ],
    "scalars": [{"name": "share", "dtype": "f32", "value": "1 / n"}],
}
PICKED = (
    "def {name}(x, at, share, params): "
    "return x.topk(params['k']).values * share, x[..., at] * share"
)


@needs_torch
def test_what_follows_from_params(tmp_path: Path) -> None:
    """Fills, scalars, functions; and arrays of eight dimensions: as the supervisor evaluates them."""
    names = {"reference": "reference", "other": "run"}
    files = {stem: PICKED.format(name=name) for stem, name in names.items()}
    folder = write_operator(tmp_path / "pick", files, **PICK)
    printed = bench("workload", "check", folder).stdout
    assert re.search(
        r"^x +input +T +1 × 2 × 1 × 2 × 1 × 2 × 1 × 64 +normal, mean 3,", printed, re.M
    )
    assert re.search(r"^at +input +i64 +5 +integers 0…63$", printed, re.MULTILINE)
    options = ["--quick", "--time-limit", "50ms", "--set", "device=cpu", "--set", "k=7"]
    variants = ["--variant", "other", "--out", tmp_path / "run"]
    bench("run", "--workload", folder, *options, *variants)
    (case,) = read_cases(tmp_path / "run").values()
    assert (case["status"], case["params"]["k"]) == ("ok", 7), case["reason"]


# ---- new -------------------------------------------------------------------------------------------


def test_new_writes_the_template_under_the_name(root: Path) -> None:
    printed = bench("workload", "new", "mine", root=root, cwd=root).stdout
    template = ROOT / "kernels" / "common" / "new_workload"
    made = root / "kernels" / "mine"
    names = sorted(path.name for path in made.iterdir())
    assert names == sorted(path.name for path in template.iterdir() if path.is_file())
    for name in names:
        expected = (template / name).read_text("utf-8").replace("new_workload", "mine")
        assert (made / name).read_text("utf-8") == expected
        assert f"  {name} " in printed
    assert json.loads((made / "workload.json").read_text("utf-8"))["name"] == "mine"
    assert printed.startswith("kernels/mine/\n")
    assert "\nmine  " in bench("list", "workloads", root=root).stdout


def test_new_with_dir_is_outside_the_project(root: Path, tmp_path: Path) -> None:
    bench("workload", "new", "mine", "--dir", tmp_path / "own" / "ones", root=root)
    assert (tmp_path / "own" / "ones" / "mine" / "workload.json").is_file()
    assert not (root / "kernels" / "mine").exists()


def test_new_twice_names_the_folder(root: Path) -> None:
    bench("workload", "new", "mine", root=root, cwd=root)
    (root / "kernels" / "mine" / "reference.py").write_text("# changed by the user\n", "utf-8")
    for folder, shown in ((root, "kernels/mine"), (root.parent, "project/kernels/mine")):
        said = bench("workload", "new", "mine", root=root, cwd=folder, expect=2).stderr
        assert said == f"bench: bench workload new: {shown} exists already: choose another name\n"
    assert (root / "kernels" / "mine" / "reference.py").read_text() == "# changed by the user\n"


@pytest.mark.parametrize("name", ["allocate", "null"])
def test_new_refuses_names_of_workloads(tmp_path: Path, name: str) -> None:
    message = refused("workload", "new", name, "--dir", tmp_path)
    assert message == f'bench workload new: "{name}" is the name of a workload: choose another'
    assert list(tmp_path.iterdir()) == []


def test_what_new_writes_compiles(tmp_path: Path) -> None:
    bench("workload", "new", "mine", "--dir", tmp_path)
    options = ["--arch", ARCHS, "--json", "--cache", tmp_path / "cache", *compiler_options()]
    done = json.loads(bench("compile", "--workload", tmp_path / "mine", *options).stdout)
    programs = done["programs"]
    # Of the full sweep: two dtypes; rows are no constant.
    assert [program["status"] for program in programs] == ["ok"] * 2 * len(ARCHS.split(","))
    quick = ["--quick", "--arch", "sm_90", "--json", "--cache", tmp_path / "cache"]
    done = bench("compile", "--workload", tmp_path / "mine", *quick, *compiler_options())
    assert [program["status"] for program in json.loads(done.stdout)["programs"]] == ["ok"]


@needs_torch
def test_what_new_writes_is_right(tmp_path: Path) -> None:
    bench("workload", "new", "mine", "--dir", tmp_path)
    checked = bench("workload", "check", tmp_path / "mine")
    assert "\nok: " in checked.stdout
    begun = [line for line in checked.stderr.splitlines() if " · " not in line]  # those took long
    assert begun == ["starting Python with PyTorch"] + [
        f"reference in {precision} on the CPU, rows={size} cols={size} {dtype}"
        for dtype in ("f32", "f16")
        for size in (1, 1024)
        for precision in ("float64", dtype)
    ] + [
        f"PyTorch eager on the CPU, rows={rows} cols={cols} {dtype}"
        for dtype, more in (("f32", 64), ("f16", 128))
        for rows, cols in ((1, 1), (more, 128), (more - 1, 127))
    ]
    sizes = ["--set", "rows=5", "--set", "cols=7", "--set", "dtype=f32,f16", "--set", "device=cpu"]
    options = ["--variant", "01_element_per_thread,eager,spelled_out", "--quick", "--quiet"]
    run = tmp_path / "run"
    bench("run", "--workload", tmp_path / "mine", *sizes, *options, "--out", run)
    found = {(c["engine"], c["dtype"]): c["status"] for c in read_cases(run).values()}
    for dtype in ("f32", "f16"):
        assert found["pytorch", dtype] == found["python", dtype] == "ok"
        assert ("cuda", dtype) in found


# ---- check -----------------------------------------------------------------------------------------


@needs_torch
def test_check_lists_what_it_found(tmp_path: Path) -> None:
    folder = write_operator(
        tmp_path / "mine",
        {"other": "def run(x):\n    return x\n"},
        summary="y is x",
        params={"rows": {"default": 4, "max": 9}, "cols": {"default": 3, "constant": True}},
        dtypes=["f32", "f16"],
        cost={"bytes": "2 * itemsize(T) * rows * cols", "flops": "rows"},
        sweep={"quick": {"rows": [1, 2]}, "full": {"rows": [1, 2, 3], "cols": [4, 5]}},
    )
    (folder / "01_none.cu").write_text("", "utf-8")
    done = bench("workload", "check", "mine", cwd=tmp_path).stdout
    assert re.sub(" {3,}", "  ", done) == (
        "mine: y is x\n"
        "  folder  mine\n"
        "  params  rows = 4 (1…9; argument long long rows)\n"
        "  cols = 3 (1 or more; compiled in as COLS)\n"
        "  dtypes  f32, f16\n"
        "  rungs  01_none\n"
        "  implementations  other\n"
        "  cost  96 B moved, 4 operations\n"
        "  memory  96 B of arrays on the device, at the default sizes\n"
        "  quick sweep  2 sizes, up to 48 B of arrays\n"
        "  full sweep  6 sizes, up to 120 B of arrays\n"
        "\n"
        "array  role  dtype  default shape  filled with  allowed error\n"
        "─────  ──────  ─────  ─────────────  ────────────────────  "
        "──────────────────────────────────────────────\n"
        "x  input  T  4 × 3  normal, mean 0, sd 1\n"
        "y  output  T  4 × 3  –  f32: relative L2 1e-05, f16: relative L2 0.002\n"
        "\n"
        "  right  PyTorch eager, at small sizes\n"
        "ok: the description, and the reference at the smallest and the default sizes; each "
        "implementation has a function run, which was not called.\n"
        "Do the rungs compile?  bench compile --workload mine --arch sm_75,sm_90 --quick\n"
    )


def test_check_without_pytorch_says_so(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine")
    done = bench("workload", "check", folder, expect=2, BENCH_PYTHON="none")
    assert "\nbench: the reference cannot be run: " in done.stderr
    assert "ok:" not in done.stdout


@needs_torch
def test_check_runs_the_smallest_sizes_that_where_allows(tmp_path: Path) -> None:
    """At cols = 1 the reference would divide by zero."""
    source = "def reference(x):\n    return x * (1 // (x.shape[1] - 1) + 1)\n"
    allowed = write_operator(tmp_path / "allowed", {"reference": source}, where="cols > 1")
    bench("workload", "check", allowed)
    wrong = bench(
        "workload", "check", write_operator(tmp_path / "all", {"reference": source}), expect=2
    )
    assert (
        "rows=1 cols=1 f32: all/reference.py:2: ZeroDivisionError: integer division or modulo by zero"
        in wrong.stdout
    )
    assert "rows=4" not in wrong.stdout


@needs_torch
def test_a_reference_that_is_no_number(tmp_path: Path) -> None:
    """All contenders were wrong, also those that computed the same."""
    folder = write_operator(
        tmp_path / "nan", {"reference": "def reference(x): return x - 1 / (0 * x)"}
    )
    assert (
        "element 0 of the reference is infinite"
        in bench("workload", "check", folder, expect=2).stdout
    )
    folder = write_operator(
        tmp_path / "nan2", {"reference": "def reference(x): return 0 * x / (0 * x)"}
    )
    assert (
        "element 0 of the reference is NaN, so that nothing can be right"
        in bench("workload", "check", folder, expect=2).stdout
    )


# ---- names -----------------------------------------------------------------------------------------


def test_params_named_as_options_are_refused(tmp_path: Path) -> None:
    """Techniques come from the list of workloads; the others are keys of --set and of cases."""
    listed = bench("list", "workloads").stdout
    techniques = re.findall(r"^  (alloc|copy|launch|weights|wait) +.*:", listed, re.MULTILINE)
    assert {"alloc", "copy", "launch"} <= set(techniques)
    for name in {*techniques, "device", "engine", "variant", "workload"}:
        params = {name: {"default": 4}, "rows": {"default": 4}, "cols": {"default": 3}}
        folder = write_operator(tmp_path / f"with_{name}", params=params)
        assert refused("workload", "check", folder) == (
            f'{folder}/workload.json: $.params.{name}: found the name "{name}", which is an option '
            "of every run: choose another"
        )
    folder = write_operator(tmp_path / "dtype", params={"dtype": {"default": 1}})
    assert "which is reserved" in refused("workload", "check", folder)


def test_the_name_of_a_workload_is_refused_everywhere(root: Path, tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "null")
    message = (
        f'{folder}/workload.json: $.name: "null" is the name of a workload of this program: choose '
        "another"
    )
    for command in (["workload", "check", folder], ["plan", "--workload", folder]):
        assert refused(*command) == message
    shutil.copytree(folder, root / "kernels" / "null_too")
    listed = bench("list", "workloads", root=root)
    assert len(re.findall("^null ", listed.stdout, re.MULTILINE)) == 1
    assert (
        listed.stderr
        == "bench: left out: "
        + message.replace(str(folder), str(root / "kernels" / "null_too"))
        + "\n"
    )


def test_a_copy_does_not_run_the_files_of_the_original(root: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "kernels" / "softmax", tmp_path / "softmax")
    assert refused("plan", "--workload", tmp_path / "softmax", root=root) == (
        f'{tmp_path}/softmax/workload.json: $.name: "softmax" is the name of '
        f"{root}/kernels/softmax: choose another"
    )
    bench("plan", "--workload", root / "kernels" / "softmax", root=root)


# ---- former names, for one release -----------------------------------------------------------------

EAGER = ["--engine", "pytorch", "--variant", "eager", "--set", "device=cpu"]


def test_the_former_words_do_the_same(root: Path, tmp_path: Path) -> None:
    bench("operator", "new", "mine", "--dir", tmp_path)
    folder = tmp_path / "mine"
    planned = bench("plan", "--workload", folder, *EAGER).stdout
    assert "mine/pytorch-cpu/eager/" in planned
    assert bench("plan", "--operator", folder, *EAGER).stdout == planned
    quick = ("--quick", "--arch", "sm_90", *compiler_options())
    for option in ("--workload", "--operator"):
        assert "mine" in bench("compile", option, folder, *quick).stdout
    assert refused("plan", "--operator", folder, "--workload", folder) == (
        "--operator and --workload exclude each other"
    )
    listed = bench("list", "workloads", root=root).stdout
    assert bench("list", "operators", root=root).stdout == listed


@needs_torch
def test_the_former_name_of_a_description_is_read_with_a_sentence(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine")
    (folder / "workload.json").rename(folder / "operator.json")
    run = ("run", "--workload", folder, *EAGER, "--passes", "1", "--time-limit", "10ms")
    done = bench(*run, "--out", tmp_path / "run", cwd=tmp_path)
    line = (
        "bench: mine/operator.json: rename it to workload.json: the old name is read for one "
        "release only"
    )
    assert done.stderr.splitlines().count(line) == 1
    # Where both are, the new name counts.
    (folder / "operator.json").write_text("{", encoding="utf-8")
    assert refused("plan", "--workload", folder).startswith(f"{folder}/operator.json:1:1: ")
    write_operator(tmp_path / "new" / "mine")
    (tmp_path / "new" / "mine" / "workload.json").rename(folder / "workload.json")
    assert "operator.json" not in bench("plan", "--workload", folder, *EAGER).stderr


def test_the_former_name_in_the_folder_of_kernels(root: Path) -> None:
    folder = write_operator(root / "kernels" / "mine")
    (folder / "workload.json").rename(folder / "operator.json")
    done = bench("plan", "--workload", "mine", *EAGER, root=root, cwd=root)
    assert "mine/pytorch-cpu/eager/" in done.stdout
    assert done.stderr.count("kernels/mine/operator.json: rename it to workload.json") == 1


# ---- commands that take or list workloads ----------------------------------------------------------


def test_workload_is_a_name_or_a_folder(root: Path, tmp_path: Path) -> None:
    write_operator(root / "kernels" / "there", summary="of the project")
    for name in ("there", "here"):
        write_operator(tmp_path / name, sweep={"full": {"rows": [9]}})
    rows = {
        word: re.findall(
            r"rows=\d", bench("plan", "--workload", word, *EAGER, root=root, cwd=tmp_path).stdout
        )
        for word in ("there", "here", "./here", str(tmp_path / "here"))
    }
    assert set(map(tuple, rows.values())) == {("rows=4",), ("rows=9",)}
    assert rows["there"] == ["rows=4"], "a name comes first"
    done = bench("plan", "--workload", "./there", root=root, cwd=tmp_path, expect=2)
    assert '"there" is the name of' in done.stderr


def test_plan_of_an_operator(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine", sweep={"full": {"rows": [2, 5]}})
    options = ["--engine", "pytorch", "--variant", "eager", "--set", "device=cpu"]
    done = bench("plan", "--workload", folder, *options).stdout
    assert re.findall(r"mine/\S+", done) == [
        "mine/pytorch-cpu/eager/rows=2/cols=3",
        "mine/pytorch-cpu/eager/rows=5/cols=3",
    ]


def test_a_quick_look_leaves_the_cpu_out_where_there_is_a_gpu(tmp_path: Path) -> None:
    """`torch.compile` for the CPU took over half of it, with a rung for the GPU."""
    gpu = {**build_driver(tmp_path / "lib"), "FAKE_CUDA": ""}

    def cpu_cases(*options: str, **environment: str) -> set[str]:
        done = bench("plan", "--workload", "softmax", "--set", "cols=1024", *options, **environment)
        return {line.partition("  ")[0] for line in done.stdout.splitlines() if "-cpu/" in line}

    assert cpu_cases("--quick", **gpu) == {"skip"}
    for options in [
        ("--quick", "--set", "device=cpu"),
        ("--quick", "--set", "device=cpu,cuda"),
        (),
    ]:
        assert cpu_cases(*options, **gpu) == {"run"}
    assert cpu_cases("--quick") == {"run"}


def test_the_device_of_an_implementation_is_set_without_its_engine(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine", {"other": "def run(x):\n    return x\n"})
    options = ["--variant", "other", "--set", "device=cpu"]
    done = bench("plan", "--workload", folder, *options).stdout
    assert re.findall(r"mine/\S+", done) == ["mine/python-cpu/other/rows=4/cols=3"]


def test_where_is_quoted_if_nothing_is_left(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine", where="rows * cols <= 100")
    assert refused("plan", "--workload", folder, "--set", "rows=1000") == (
        "no case is left: mine needs rows * cols <= 100"
    )
    assert "rows=33/" in bench("plan", "--workload", folder, "--set", "rows=33,34").stdout


def test_a_sweep_may_name_an_operator(root: Path, tmp_path: Path) -> None:
    write_operator(root / "kernels" / "mine")
    contender = {"engine": "pytorch", "variants": ["eager"], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "mine", [contender], axes={"rows": [7]})
    assert "mine/pytorch-cpu/eager/rows=7/cols=3" in bench("plan", sweep, root=root).stdout


def test_compile_needs_an_architecture(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine")
    (folder / "01_none.cu").write_text("", "utf-8")
    assert refused("compile", "--workload", folder) == (
        "(command line): no architecture to compile for: give --arch, e.g. --arch sm_90 or --arch "
        "sm_75,sm_80,sm_90"
    )


def test_list_operators(root: Path) -> None:
    write_operator(root / "kernels" / "mine", summary="y is x")
    done = bench("list", "workloads", root=root, cwd=root)
    at = done.stdout.index("mine         y is x\n")
    assert done.stdout[at:].splitlines()[1:3] == [
        "  rows       1 or more; argument long long rows (default 4)",
        "  cols       1 or more; argument long long cols (default 3)",
    ]


def test_a_broken_operator_is_left_out_where_it_is_read(root: Path, tmp_path: Path) -> None:
    folder = write_operator(root / "kernels" / "broken", wheer="rows < 3")
    line = f'bench: left out: {folder}/workload.json: $.wheer: unknown key "wheer"; did you mean '
    null = ["--workload", "null", "--engine", "null", "--variant", "steady"]
    for command, is_told in (
        (["list", "workloads"], True),
        (["list", "sweeps"], False),
        (["plan", *null], False),
        (["run", *null, "--quick", "--quiet", "--out", tmp_path / "run"], False),
        (["workload", "new", "another"], False),
    ):
        done = bench(*command, root=root)
        if not is_told:
            assert done.stderr == "", "only the description of what is named is read"
        else:
            assert [text.startswith(line) for text in done.stderr.splitlines()].count(True) == 1
    assert "unknown key" in refused("workload", "check", folder, root=root)


# ---- resume ----------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("changed", ["reference.py", "other.py", "01_rung.cu", "workload.json"])
def test_a_changed_operator_is_not_resumed(tmp_path: Path, changed: str) -> None:
    folder = write_operator(tmp_path / "twice", {"other": "def run(x): return x"})
    (folder / "01_rung.cu").write_text("// nothing", encoding="utf-8")
    run = ("run", "--workload", folder, "--engine", "pytorch", "--variant", "eager")
    run += ("--set", "device=cpu", "--time-limit", "10ms", "--out", tmp_path / "run")
    bench(*run, "--passes", "1")
    path = folder / changed
    path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
    message = bench(*run, "--passes", "2", "--resume", expect=3).stderr
    assert "cannot be resumed: the files of twice have changed since: restore them" in message
