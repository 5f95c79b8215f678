"""Tables of files that must be refused, tests/fixtures/invalid_*.txt; each says how it is written."""

import re
from pathlib import Path

from project import FIXTURES


def refusals(table: str) -> dict[str, tuple[bytes, str]]:
    """Return the content of each file as written in the table, and the message expected."""
    text = (FIXTURES / table).read_bytes()
    found = re.findall(rb"^== ((.+?):.+)\n((?:(?!== ).*\n)*)", text, re.MULTILINE)
    return {name.decode(): (content, message.decode()) for message, name, content in found}


def write_refused(table: str, name: str, folder: Path) -> tuple[Path, str]:
    """Write one file of a table to `folder`; return its path and the message expected."""
    content, message = refusals(table)[name]
    content = re.sub(rb"\\x(..)", lambda code: bytes.fromhex(code[1].decode()), content)
    (folder / name).write_bytes(content)
    return folder / name, f"{folder}/{message}"
