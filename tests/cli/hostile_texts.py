"""Texts that must stay text, and what must not come of them."""

import re
from pathlib import Path

SHELL = """$(touch PWNED)`touch PWNED`;touch PWNED|touch PWNED&'"\\"""
ESCAPES = "\x1b[2J\x1b]0;PWNED\x07\x9b31m\r\x7f"
MARKDOWN = "<script>x</script> | [a](javascript:x) ![b](http://x/) `c` **d** # e"
DEEP = 100_000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
