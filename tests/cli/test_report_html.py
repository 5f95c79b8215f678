"""`bench report --html`: one file that asks for nothing and has everything."""

import base64
import gzip
import hashlib
import html
import json
import re
import shlex
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from html_reports import SAVED, SIX_PASSES, Page, Run, hostile_report, html_of
from project import ROOT, bench

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html") / "report.html"
    html_of(*SAVED, out=out)
    return out


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of a run whose numbers are planted."""
    out = tmp_path_factory.mktemp("html") / "report.html"
    html_of(SIX_PASSES, out=out)
    return out


@pytest.fixture(scope="module")
def page(saved: Path) -> Page:
    return Page(saved.read_text("utf-8"))


def ids_of(run: Path) -> set[str]:
    """Return the ids of a run's cases; one with passes has a line for each."""
    lines = gzip.decompress((run / "cases.jsonl.gz").read_bytes()).splitlines()
    return {json.loads(line)["id"] for line in lines}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def policy_of(text: str) -> str:
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert found is not None
    return found[1]


def test_a_case_has_the_command_that_repeats_it(saved: Path) -> None:
    text = html.unescape(saved.read_text("utf-8"))
    found = re.findall(r"<pre>(\S+)  (?:[^<]*)\n  repeat       build/bench run ([^<]*)</pre>", text)
    # Not of what calibrates the device.
    shown = [run for run in SAVED if "_boot" not in run]
    assert len(found) > sum(len(ids_of(ROOT / run)) for run in shown) * 0.9
    for case_id, command in found[::60]:
        assert f" {case_id} " in bench("plan", *shlex.split(command)).stdout.replace("\n", " \n")


# ---- the file -----------------------------------------------------------------------------------


def test_a_chart_has_gnuplot_s_points_if_it_draws_some(saved: Path) -> None:
    charts = re.findall(r'data:image/svg\+xml,([^"]*)"', saved.read_text("utf-8"))
    draws = ["href='%23gpPt" in chart.partition("</defs>")[2] for chart in charts]
    assert [("id='gpPt0'" in chart) for chart in charts] == draws
    assert {True, False} == set(draws)


def test_it_has_everything_and_is_small(saved: Path, page: Page) -> None:
    assert saved.stat().st_size <= MOST_BYTES
    text = " ".join(" ".join(page.texts).split())
    for words in (
        "Where we do not win",
        "Machine and method",
        "Every case",
        "The device, measured in this run",
    ):
        assert words in text
    n_shown = len(re.findall(r"\bc[0-9a-f]{10}\b", " ".join(page.ids)))
    # Of a boot only the range of its ratios is shown.
    assert n_shown == sum(len(ids_of(ROOT / run)) for run in SAVED if "_boot" not in run)
    charts = sum(len(list((ROOT / "plots" / Path(run).name).glob("*.svg"))) for run in SAVED)
    assert sum(tag == "img" and name == "src" for tag, name, _ in page.attributes) == charts


def test_nothing_is_asked_for(saved: Path, page: Page) -> None:
    assert {href for href in page.hrefs if not href.startswith("#")} == {"data:,"}
    assert not page.tags & {"image", "iframe", "object", "embed", "base", "form", "audio"}
    names = {name for _, name, _ in page.attributes}
    sources = {(tag, value[:19]) for tag, name, value in page.attributes if name == "src"}
    assert sources == {("img", "data:image/svg+xml,")}
    assert not names & {"srcset", "style", "action", "background", "ping", "data"}
    assert not [name for name in names if name.startswith("on")]
    for _, name, value in page.attributes:
        assert name == "src" or "url(" not in value.replace("url(#", "")
    text = saved.read_text("utf-8")
    policy = policy_of(text)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "url(" not in content
        assert "@import" not in content


def test_links_have_their_places(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids)), "ids clash"
    places = {f"#{name}" for name in page.ids}
    assert {href for href in page.hrefs if href.startswith("#")} <= places
    labels = {value for _, name, value in page.attributes if name == "aria-labelledby"}
    assert labels <= set(page.ids)


def test_every_case_has_a_row(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    folder = run.write()
    text = html_of(folder, out=tmp_path / "r.html")
    rows = re.findall(r'<tbody id="c[0-9a-f]{10}">', text)
    assert len(rows) == len(run.cases) == len(set(rows))
    for case in run.cases:
        assert text.count(f"<pre>{case}  ") == 1


def test_headline_numbers_lead_to_their_cases(six: Path) -> None:
    """Those of the table and of the list."""
    text = six.read_text("utf-8")
    top, _, rest = text.partition('<details class="workload"')
    case = r'<a href="#(c\w{10})">'
    row = re.search(r'.*<td>batch 64</td>.*<td class="r">.* ‡</a></td>.*', top)
    assert row is not None
    ours, again, theirs, limit = re.findall(case, row[0])
    assert ours == again == limit
    ids = dict(re.findall(r'<tbody id="(c\w{10})">.*\n.*<pre>(\S+)', rest))
    assert ids[ours].startswith("mlp_infer/cuda/03_vectorized/batch=64")
    assert ids[theirs] == "mlp_infer/pytorch-cuda/graph/batch=64"
    assert re.search(r'<a href="#w1"><text[^>]*>mlp_infer f32, batch 64<tspan', top)
    assert ">–</a>" not in text


def test_charts_are_well_formed(saved: Path) -> None:
    text = saved.read_text("utf-8")
    for svg in re.findall(r'<svg class="speedups".*?</svg>', text, re.DOTALL):
        ElementTree.fromstring(svg)


def test_the_same_as_the_pages(six: Path, tmp_path: Path) -> None:
    """Letters and digits of REPORT.md and its pages, without marks and links."""
    shown = letters("".join(Page(six.read_text("utf-8")).texts))
    bench("report", SIX_PASSES, "--out", tmp_path / "R.md", "--pages", tmp_path / "pages")
    pages = [tmp_path / "R.md", *(tmp_path / "pages").glob("*/*.md")]
    assert len(pages) == 2
    for markdown in pages:
        for line in markdown.read_text("utf-8").splitlines()[1:]:
            if re.match(r"    |\[.*\]: |\[!\[", line) or "timings.csv" in line:
                continue  # the command has --html; a link out of the file has its path
            plain = re.sub(r"\]\([^)]*\)", "", html.unescape(line))
            assert letters(plain) in shown, line


# ---- options ------------------------------------------------------------------------------------


def test_only_the_html_file_is_written(tmp_path: Path) -> None:
    run = shutil.copytree(SIX_PASSES, tmp_path / "run")
    before = set(tmp_path.rglob("*"))
    html_of(run, out=tmp_path / "a" / "r.html")
    assert set(tmp_path.rglob("*")) - before == {tmp_path / "a", tmp_path / "a" / "r.html"}
    html_of(run, out=tmp_path / "a" / "r.html")
    printed = bench("report", run, "--html", "-").stdout
    assert printed.startswith("<!DOCTYPE html>\n")
    assert printed.endswith("</html>\n")
    notes = tmp_path / "notes.html"
    notes.write_text("<!DOCTYPE html>\n<title>My notes</title>\n", "utf-8")
    refused = bench("report", run, "--html", notes, expect=2).stderr
    assert "notes.html: exists, and is not a report of bench" in refused
    assert "My notes" in notes.read_text("utf-8")
    for other, value in (("--out", "x"), ("--pages", "x"), ("--print", "headline")):
        refused = bench("report", run, "--html", "r.html", other, value, expect=2).stderr
        assert f"bench report: --html and {other} exclude each other\n" in refused


# ---- hostile runs -------------------------------------------------------------------------------


def test_hostile_texts_stay_text(page: Page, tmp_path: Path) -> None:
    text = hostile_report(tmp_path).read_text("utf-8")
    found = Page(text)
    assert "<script>alert(1)</script>" in "".join(found.texts), "they are not in the report"
    assert found.tags <= page.tags
    assert {href for href in found.hrefs if not href.startswith("#")} == {"data:,"}
    assert {name for _, name, _ in found.attributes} <= {name for _, name, _ in page.attributes}
    # In an image nothing runs, and nothing is loaded.
    assert re.sub(r' src="[^"]*"', "", text).count("<script>") == 1
    assert "Difference by batch size: the chart cannot be shown" in text
