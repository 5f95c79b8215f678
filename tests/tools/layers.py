#!/usr/bin/env python3
"""Check that includes and calls inside bench/ point downward in the list of folders in layers.txt.

Calls are symbols, functions and tables alike, that one object leaves undefined and another defines.
So they include functions declared by hand or called through a table. Also rejected: cycles of
files, files in bench/ other than main.c, and folders of more than 16 modules (a module is a .c and
a .h of one stem).
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
MOST_MODULES = 16
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
GENERATED = {"html_parts.h", "version.h"}


class Use(NamedTuple):
    """File `user` needs `used`, both below bench/."""

    user: str
    used: str
    how: str
    """"includes cli/args.h", "calls run()" or "uses TABLE"."""


class Refused(Exception):
    """The tree cannot be checked."""


# ---- files, includes and calls --------------------------------------------------------------------


def find_files(bench: Path) -> list[str]:
    return sorted(str(p.relative_to(bench)) for p in bench.rglob("*.[ch]"))


def find_includes(bench: Path, files: list[str]) -> Iterator[Use]:
    for name in files:
        for header in INCLUDE.findall((bench / name).read_text(encoding="utf-8")):
            if header in GENERATED:
                continue
            if header not in files:
                raise Refused(f'{name} includes "{header}", which is not a path below {bench}')
            yield Use(name, header, f"includes {header}")


def find_calls(objects: Path, files: list[str]) -> Iterator[Use]:
    """Yield calls found by nm in `objects`, which has one object per .c at the same path."""
    sources = [name for name in files if name.endswith(".c")]
    for name in sources:
        if not (objects / f"{name[:-2]}.o").is_file():
            raise Refused(f"{objects / name[:-2]}.o does not exist: run make first")
    listed = [str(objects / f"{name[:-2]}.o") for name in sources]
    nm = [os.environ.get("NM", "nm"), "-A", "-P", *listed]
    text = subprocess.run(nm, capture_output=True, text=True, check=True).stdout
    wanted: list[tuple[str, str]] = []
    defined: dict[str, tuple[str, bool]] = {}
    for line in text.splitlines():
        path, symbol, kind = re.split(r":? ", line, maxsplit=3)[:3]
        name = str(Path(path).relative_to(objects))[:-2] + ".c"
        if kind in "Uwv":
            wanted.append((name, symbol))
        elif kind.isupper():
            defined[symbol] = (name, kind in "TW")
    for name, symbol in wanted:
        if symbol in defined:
            used, is_function = defined[symbol]
            how = f"calls {symbol}()" if is_function else f"uses {symbol}"
            yield Use(name, used, f"{how} of {used}")


# ---- the list -------------------------------------------------------------------------------------


class Layers:
    """The list: maps each file to its row and to its folder or module."""

    def __init__(self, path: Path):
        lines = path.read_text(encoding="utf-8").splitlines()
        self.rows = [line.split()[0] for line in lines if line.strip() and line[0] != "#"]
        self.where = path
        self.seen: set[str] = set()

    def place(self, name: str) -> tuple[int, str] | None:
        """Return a file's row and name there. A module's row precedes its folder's."""
        folder, stem = name.rpartition("/")[0], name[:-2]
        for candidate in (stem, folder, folder.rpartition("/")[0] + "/*"):
            if candidate in self.rows and candidate:
                self.seen.add(candidate)
                return self.rows.index(candidate), folder if candidate.endswith("*") else candidate
        return None

    def unused(self) -> list[str]:
        return [row for row in self.rows if row not in self.seen]


# ---- checks ---------------------------------------------------------------------------------------


def reach(start: str, targets: dict[str, list[str]]) -> dict[str, str]:
    """Return all nodes reachable from `start`, each with its predecessor on a shortest path."""
    came_from: dict[str, str] = {}
    queue = [start]
    for node in queue:
        for target in targets.get(node, []):
            if target not in came_from:
                came_from[target] = node
                queue.append(target)
    return came_from


def shortest_cycle(start: str, targets: dict[str, list[str]]) -> list[str]:
    """Return the shortest cycle through `start`, or [start] if there is none."""
    came_from = reach(start, targets)
    cycle = [start]
    while (node := came_from.get(cycle[-1], start)) != start:
        cycle.append(node)
    return [start, *reversed(cycle[1:]), start] if start in came_from else [start]


def find_cycles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the shortest cycle of each strongly connected component."""
    targets: dict[str, list[str]] = {}
    sources: dict[str, list[str]] = {}
    for user, used in edges:
        if user != used:
            targets.setdefault(user, []).append(used)
            sources.setdefault(used, []).append(user)
    cycles: list[list[str]] = []
    done: set[str] = set()
    for start in targets:
        if start in done:
            continue
        component = reach(start, targets).keys() & reach(start, sources).keys()
        if component:
            cycles.append(
                min((shortest_cycle(node, targets) for node in sorted(component)), key=len)
            )
            done |= component
    return cycles


def check_folders(layers: Layers, files: list[str]) -> list[str]:
    wrong = []
    modules: dict[str, set[str]] = {}
    for name in files:
        folder = name.rpartition("/")[0]
        modules.setdefault(folder, set()).add(name[:-2])
        if folder == "" and name != "main.c":
            wrong.append(f"bench/{name}: only main.c may be directly in bench/")
        elif layers.place(name) is None:
            wrong.append(f"bench/{name}: {layers.where.name} has no line for its folder")
    for folder, stems in sorted(modules.items()):
        if len(stems) > MOST_MODULES:
            wrong.append(f"bench/{folder}: {len(stems)} modules, at most {MOST_MODULES} per folder")
    return wrong + [f"{layers.where.name}: {row} does not exist" for row in layers.unused()]


def check_direction(layers: Layers, uses: list[Use]) -> list[str]:
    wrong = []
    for use in uses:
        user, used = layers.place(use.user), layers.place(use.used)
        if user is None or used is None or user == used:
            continue
        if user[0] >= used[0]:
            way = "sideways" if user[0] == used[0] else "upward"
            wrong.append(f"{way}, {user[1]} -> {used[1]}: {use.user} {use.how}")
    return sorted(set(wrong))


def check_cycles(layers: Layers, uses: list[Use]) -> list[str]:
    wrong = []
    places = [(layers.place(use.user), layers.place(use.used)) for use in uses]
    for folders in find_cycles((a[1], b[1]) for a, b in places if a and b):
        wrong.append("cycle of folders: " + " -> ".join(folders))
    how = {(use.user, use.used): use.how for use in reversed(uses)}
    for files in find_cycles((use.user, use.used) for use in uses):
        steps = (f"{a} {how[a, b]}" for a, b in zip(files, files[1:], strict=False))
        wrong.append("cycle of files: " + "; ".join(steps))
    return wrong


def print_graph(layers: Layers, uses: list[Use]) -> None:
    """Print each folder with those that it uses, both from top to bottom."""
    below: dict[tuple[int, str], set[tuple[int, str]]] = {}
    for use in uses:
        user, used = layers.place(use.user), layers.place(use.used)
        if user is not None and used is not None:
            below.setdefault(user, set()).update({used} - {user})
    width = max(len(name) for _, name in below)
    for place, used in sorted(below.items()):
        print(f"{place[1]:{width}}  {' '.join(name for _, name in sorted(used))}".rstrip())


def main() -> int:
    root = HERE.parents[1]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", action="store_true", help="print each folder and what it uses")
    parser.add_argument("--bench", type=Path, default=root / "bench", help="the sources")
    parser.add_argument("--objects", type=Path, default=root / "build" / "obj" / "bench")
    parser.add_argument("--layers", type=Path, default=HERE / "layers.txt", help="the list")
    options = parser.parse_args()
    layers = Layers(options.layers)
    files = find_files(options.bench)
    try:
        includes = list(find_includes(options.bench, files))
        calls = list(find_calls(options.objects, files))
    except Refused as refused:
        print(f"layers: {refused}", file=sys.stderr)
        return 2
    uses = includes + calls
    wrong = check_folders(layers, files)
    wrong += check_direction(layers, uses) + check_cycles(layers, uses)
    if options.graph:
        print_graph(layers, uses)
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong and not options.graph:
        print(f"layers: {len(includes)} includes and {len(calls)} calls, all downward")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
