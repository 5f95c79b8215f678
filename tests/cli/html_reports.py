"""HTML reports for the tests, and what is in one."""

import json
from html.parser import HTMLParser
from pathlib import Path

from hostile_texts import MARKDOWN
from make_pair import Run
from project import FIXTURES, PARTS, ROOT, bench, saved_runs

SAVED = tuple(saved_runs())
SIX_PASSES = FIXTURES / "report" / "gpu"
VOID = {"meta", "link", "wbr", "img"}
HOSTILE = (
    f"""{MARKDOWN} </pre></td><script>alert(1)</script><img src=x onerror=alert(1)>"' [y](#w1)"""
)
HOSTILE_SVG = """<?xml version="1.0"?><svg viewBox="0 0 9 9" onload="alert(1)">
<script>alert(1)</script><a href="javascript:alert(1)"><text>a</text></a>
<image href="http://localhost:9/x.png"/><rect width="9" height="9" fill="url(http://localhost:9/y)"/>
<text onclick="alert(1)">&lt;script&gt;alert(1)&lt;/script&gt;</text>
<foreignObject><iframe src="http://localhost:9/"/></foreignObject></svg>"""


class Page(HTMLParser):
    """What is in the file; it has to close what it opens."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "xlink:href"):
                self.hrefs.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def html_of(*runs: Path | str, out: Path, root: Path = ROOT) -> str:
    done = bench("report", *runs, "--html", out, root=root, cwd=root)
    assert done.stdout == f"{out}\n"
    return out.read_text("utf-8")


def hostile_report(folder: Path) -> Path:
    """Write the report of a run in which every free text, and a chart, wants to be active."""
    root = folder / "project"
    root.mkdir()
    for name in set(PARTS) - {"plots"}:
        if (ROOT / name).exists():
            (root / name).symlink_to(ROOT / name)
    (root / "plots" / "run").mkdir(parents=True)
    (root / "plots" / "run" / "total.svg").write_text(HOSTILE_SVG, "utf-8")
    (root / "plots" / "run" / "difference.svg").write_text("no picture <script>alert(1)", "utf-8")
    run = Run(folder / "run")
    run.header["argv"] = ["bench", HOSTILE]
    run.header["sweeps"] = [{"path": HOSTILE, "text": json.dumps({"name": HOSTILE})}]
    for part in run.environment.values():
        if isinstance(part, dict):
            part.update({key: HOSTILE for key, value in part.items() if isinstance(value, str)})
    for i, case in enumerate(run.cases.values()):
        case["flags"] = [HOSTILE]
        case["device"]["name"] = HOSTILE
        case["resources"].update(arch=HOSTILE, code_hash=HOSTILE)
        if i % 2:
            case.update(status="failed", reason=HOSTILE, phases={})
    out = folder / "report.html"
    html_of(run.write(), out=out, root=root)
    return out
