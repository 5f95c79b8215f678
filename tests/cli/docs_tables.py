"""Tables of keys in docs/results-format.md, and the keys of what a run wrote."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from project import ROOT


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


class Table:
    """The keys in the first column of a table, and its second column if needed."""

    def __init__(self, section: str, heading: str) -> None:
        text = text_of(ROOT / "docs" / "results-format.md")
        part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        rows = part.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
        assert rows, f"{section}: no table with the heading {heading}"
        self.note: dict[str, str] = {}
        for row in rows:
            cells = [cell.strip() for cell in row.split("|")[1:-1]]
            for key in re.findall(r"`([^`]+)`", cells[0]):
                assert key not in self.note, f"{key} is listed twice"
                self.note[key] = cells[1]

    def match(self, path: str) -> str | None:
        """Return the key that matches a path; `<…>` matches any name."""
        for key in self.note:
            pattern = re.sub(r"<\w+>", "[^.]+", re.escape(key))
            if re.fullmatch(pattern, path):
                return key
        return None


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Return all keys of nested objects: `a.b` for scalars, lists and empty objects."""
    for key, item in value.items():
        path = f"{prefix}{key}"
        if isinstance(item, dict) and item:
            yield from paths(item, f"{path}.")
        else:
            yield path


def compare(found: set[str], table: Table, may_be_absent: set[str]) -> None:
    covered = {path: table.match(path) for path in found}
    assert not [path for path, key in covered.items() if key is None], "not in the table"
    assert set(table.note) - set(covered.values()) - may_be_absent == set(), "only in the table"
