"""`make layers` on small synthetic trees: correct ones and all errors."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from project import ROOT, ran

TOOL = ROOT / "tests" / "tools" / "layers.py"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
LAYERS = """\
# A comment.
main          the program
high/front    above its own folder's parts
high/parts    parts
high          what the parts share
work/*        do not use each other
low           the ground
"""
GOOD = {
    "main.c": '#include "high/front.h"\nint main(void) { return front(); }\n',
    "high/front.h": "int front(void);\n",
    "high/front.c": '#include "high/front.h"\n#include "high/parts/part.h"\n'
    "int front(void) { return part(); }\n",
    "high/parts/part.h": "int part(void);\n",
    "high/parts/part.c": '#include "high/parts/part.h"\n#include "high/shared.h"\n'
    "int part(void) { return shared(); }\n",
    "high/shared.h": "int shared(void);\n",
    "high/shared.c": '#include "high/shared.h"\nextern const int NUMBERS[];\n'
    "int b(void);\nint shared(void) { return NUMBERS[0] + b(); }\n",
    "work/a/a.c": '#include "low/ground.h"\nint a(void);\nint a(void) { return ground(); }\n',
    "work/b/b.c": '#include "low/ground.h"\nint b(void);\nint b(void) { return ground(); }\n',
    "low/ground.h": "int ground(void);\n",
    "low/ground.c": '#include "low/ground.h"\n#include "version.h"\n'
    "const int NUMBERS[] = {1, 2};\nint ground(void) { return 0; }\n",
}


def compile_into(objects: Path, bench: Path, names: list[str]) -> None:
    for name in names:
        built = (objects / name).with_suffix(".o")
        built.parent.mkdir(parents=True, exist_ok=True)
        paths = ["-I", bench, "-I", bench.parent, "-c", bench / name, "-o", built]
        ran(*COMPILER, *paths)


@dataclass
class Tree:
    folder: Path
    objects: Path
    """Add files to those of GOOD."""
    files: dict[str, str] = field(default_factory=lambda: dict(GOOD))
    layers: str = LAYERS

    def check(self, *options: str) -> subprocess.CompletedProcess[str]:
        bench = self.folder / "bench"
        (self.folder / "layers.txt").write_text(self.layers)
        (self.folder / "version.h").write_text("")
        for name, text in self.files.items():
            (bench / name).parent.mkdir(parents=True, exist_ok=True)
            (bench / name).write_text(text)
        changed = [name for name, text in self.files.items() if GOOD.get(name) != text]
        compile_into(self.objects, bench, [name for name in changed if name.endswith(".c")])
        places = ["--bench", bench, "--objects", self.objects]
        return ran(
            sys.executable,
            TOOL,
            *places,
            "--layers",
            self.folder / "layers.txt",
            *options,
            expect=None,
        )

    def complaints(self) -> list[str]:
        done = self.check()
        assert done.returncode == 1, done
        return done.stderr.splitlines()


@pytest.fixture(scope="module")
def good_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "version.h").write_text("")
    for name, text in GOOD.items():
        (folder / "bench" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bench" / name).write_text(text)
    sources = [name for name in GOOD if name.endswith(".c")]
    compile_into(folder / "obj", folder / "bench", sources)
    return folder / "obj"


@pytest.fixture
def tree(tmp_path: Path, good_objects: Path) -> Tree:
    shutil.copytree(good_objects, tmp_path / "obj")
    return Tree(tmp_path, tmp_path / "obj")


def test_good_tree(tree: Tree) -> None:
    done = tree.check()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "layers: 9 includes and 7 calls, all downward\n"


def test_graph(tree: Tree) -> None:
    done = tree.check("--graph")
    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["main", "high/front"],
        ["high/front", "high/parts"],
        ["high/parts", "high"],
        ["high", "work/b", "low"],
        ["work/a", "low"],
        ["work/b", "low"],
        ["low"],
    ]


def test_include_upward(tree: Tree) -> None:
    tree.files["low/ground.h"] += '#include "high/shared.h"\n'
    first, second = tree.complaints()
    assert first == "upward, low -> high: low/ground.h includes high/shared.h"
    assert second.startswith("cycle of folders: ")


def test_call_upward(tree: Tree) -> None:
    """Declared by hand, without an include."""
    tree.files["low/ground.c"] += (
        "int part(void);\nint up(void);\nint up(void) { return part(); }\n"
    )
    complaints = tree.complaints()
    expected = "upward, low -> high/parts: low/ground.c calls part() of high/parts/part.c"
    assert complaints[0] == expected
    # low, high/parts, high and low again, and the same for their files.
    assert [line.split(":")[0] for line in complaints[1:]] == [
        "cycle of folders",
        "cycle of files",
    ]
    assert "high/parts -> high -> low" in complaints[1] or "low -> high/parts" in complaints[1]


ADDED = {
    "a function in a table": (
        {"low/ground.c": "int a(void);\nint (*const TABLE[])(void) = {a};\n"},
        "upward, low -> work/a: low/ground.c calls a() of work/a/a.c",
    ),
    "a table": (
        {
            "high/parts/part.c": "const int ABOVE[] = {1};\n",
            "work/a/a.c": "extern const int ABOVE[];\nint u(void);\nint u(void) { return ABOVE[0]; }\n",
        },
        "upward, work/a -> high/parts: work/a/a.c uses ABOVE of high/parts/part.c",
    ),
    "sideways": (
        {"work/a/a.c": "int b(void);\nint side(void);\nint side(void) { return b(); }\n"},
        "sideways, work/a -> work/b: work/a/a.c calls b() of work/b/b.c",
    ),
}


@pytest.mark.parametrize("what", ADDED)
def test_other_uses(tree: Tree, what: str) -> None:
    texts, complaint = ADDED[what]
    for name, text in texts.items():
        tree.files[name] += text
    assert complaint in tree.complaints()


def test_cycle_of_files(tree: Tree) -> None:
    tree.files["low/ground.c"] += (
        "int other(void);\nint one(void);\nint one(void) { return other(); }\n"
    )
    tree.files["low/other.c"] = (
        "int one(void);\nint other(void);\nint other(void) { return one(); }\n"
    )
    (complaint,) = tree.complaints()
    assert complaint.startswith("cycle of files: low/ground.c calls other() of low/other.c; ")


def test_cycle_of_headers(tree: Tree) -> None:
    tree.files["low/ground.h"] += '#include "low/more.h"\n'
    tree.files["low/more.h"] = '#ifndef MORE\n#define MORE\n#include "low/ground.h"\n#endif\n'
    (complaint,) = tree.complaints()
    assert complaint == (
        "cycle of files: low/ground.h includes low/more.h; low/more.h includes low/ground.h"
    )


def test_places(tree: Tree) -> None:
    """A file next to main.c, a folder without a line, a line without a folder."""
    tree.files["stray.h"] = ""
    tree.files["new/new.c"] = ""
    tree.layers += "old    gone\n"
    assert tree.complaints() == [
        "bench/new/new.c: layers.txt has no line for its folder",
        "bench/stray.h: only main.c may be directly in bench/",
        "layers.txt: old does not exist",
    ]


def test_too_many_modules(tree: Tree) -> None:
    """GOOD has one module, ground.c with ground.h."""
    tree.files |= {f"low/m{i}.h": "" for i in range(15)}
    assert tree.check().returncode == 0
    tree.files["low/m15.h"] = ""
    assert tree.complaints() == ["bench/low: 17 modules, at most 16 per folder"]


def test_not_built(tree: Tree) -> None:
    (tree.objects / "low" / "ground.o").unlink()
    done = tree.check()
    assert done.returncode == 2
    assert "does not exist: run make first" in done.stderr


def test_include_by_bare_name(tree: Tree) -> None:
    """Paths are relative to bench/."""
    tree.files["low/ground.c"] = '#include "ground.h"\nint ground(void) { return 0; }\n'
    tree.files["low/ground.c"] += "const int NUMBERS[] = {1};\n"
    done = tree.check()
    assert done.returncode == 2
    assert 'low/ground.c includes "ground.h", which is not a path below' in done.stderr
