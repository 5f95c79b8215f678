"""The HTML report in a headless browser; screenshots were looked at by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import PROGRAM, Browser
from html_reports import SAVED, SIX_PASSES, hostile_report, html_of

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium (apt-get install chromium)")

TABLE = "document.querySelector('main > .table table')"
COLUMN = f"[...{TABLE}.tBodies[0].rows].map((row) => row.cells[%d].textContent)"
CASES = "document.querySelector('#cases-1 table')"
OPEN_ALL = "for (const d of document.querySelectorAll('details')) d.open = true"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html") / "report.html"
    html_of(*SAVED, out=out)
    return out


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html") / "report.html"
    html_of(SIX_PASSES, out=out)
    return out


@pytest.mark.parametrize("which", ["saved", "hostile"])
def test_it_asks_for_nothing(browser: Browser, which: str, saved: Path, tmp_path: Path) -> None:
    page = saved if which == "saved" else hostile_report(tmp_path)
    url = page.as_uri()
    browser.show(1024)
    browser.open(url)
    browser.eval(OPEN_ALL)
    browser.eval("document.body.offsetHeight")
    # Charts are in the file, and the icon that keeps browsers from asking for one.
    assert [asked for asked in browser.requests if not asked.startswith("data:")] == [url]
    assert browser.messages == []


def test_it_fits_every_width(browser: Browser, saved: Path) -> None:
    """Wide tables and charts scroll on their own."""
    fits = "document.documentElement.scrollWidth <= innerWidth"
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.show(1920)
    browser.open(saved.as_uri())
    assert browser.eval(fits)
    hidden = "(table) => table.scrollWidth > table.clientWidth"
    assert not browser.eval(f"[...document.querySelectorAll('main > .table')].some({hidden})")
    light = browser.eval(colour)
    browser.show(1024, dark=True)
    assert browser.eval(fits)
    assert browser.eval(colour) != light
    browser.show(360, dark=True)
    browser.eval(OPEN_ALL)
    assert browser.eval(fits)
    assert browser.eval("innerWidth") == 360


def test_links_open_their_place(browser: Browser, saved: Path) -> None:
    """From a number to its case, whose sections open; with the keyboard, too."""
    browser.show(1024)
    browser.open(saved.as_uri())
    href = browser.eval(
        "document.querySelector('main > .table a[href^=\"#c\"]').getAttribute('href')"
    )
    assert browser.eval(f"document.querySelector('{href} pre').offsetHeight") == 0
    browser.eval("document.querySelector('main > .table a[href^=\"#c\"]').focus()")
    browser.press("Enter")
    assert browser.eval("location.hash") == href
    assert browser.eval(f"document.querySelector('{href} pre').offsetHeight") > 0
    top = f"document.querySelector('{href}').getBoundingClientRect().top"
    assert 0 <= browser.eval(top) < 900
    browser.eval("scrollTo(0, 0)")
    browser.press("Tab")
    assert browser.eval("document.activeElement.tagName") != "BODY"
    link = "document.querySelector('main > .table a[href^=\"#w\"]')"
    browser.eval(f"{link}.click()")
    target = f"document.querySelector({link}.getAttribute('href'))"
    assert browser.eval(f"{target}.checkVisibility()")
    # As in browsers that open no section for a link.
    browser.eval("for (const d of document.querySelectorAll('details')) d.open = false")
    browser.eval("dispatchEvent(new HashChangeEvent('hashchange'))")
    assert browser.eval(f"{target}.checkVisibility()")


def test_tables_are_sorted(browser: Browser, six: Path) -> None:
    browser.show(1024)
    browser.open(six.as_uri())
    heading = f"{TABLE}.tHead.rows[0].cells[3]"
    assert browser.eval(f"{heading}.textContent") == "ours"
    browser.eval(f"{heading}.firstChild.focus()")
    for key, up in (("Enter", True), (" ", False)):
        browser.press(key)
        assert browser.eval(f"{heading}.ariaSort") == ("ascending" if up else "descending")
        times = [text.split()[:2] for text in browser.eval(COLUMN % 3)]
        assert {unit for _, unit in times} == {"ns", "µs", "ms"}
        factors = {"ns": 1, "µs": 1e3, "ms": 1e6}
        values = [float(number) * factors[unit] for number, unit in times]
        assert values == sorted(values, reverse=not up)
    headings = browser.eval(f"[...{TABLE}.tHead.rows[0].cells].map((cell) => cell.textContent)")
    limit = headings.index("limit")
    for up in (True, False):  # cells without a number are last
        browser.eval(f"{TABLE}.tHead.rows[0].cells[{limit}].firstChild.click()")
        shares = browser.eval(COLUMN % limit)
        assert shares[7:] == ["–"] * 5
        assert shares[0 if up else 6] == "< 0.1 %"
        assert shares[6 if up else 0] == "75 %"
    assert browser.eval(f"{heading}.ariaSort") is None


def test_a_chart_is_enlarged(browser: Browser, saved: Path) -> None:
    """By a click or a key, until the next."""
    browser.show(390)
    browser.open(saved.as_uri())
    browser.eval(OPEN_ALL)
    chart = "document.querySelector('img.chart')"
    size = f"{chart}.getBoundingClientRect().width"
    small = browser.eval(size)
    browser.eval(f"{chart}.click()")
    assert browser.eval(size) > 1.5 * small
    browser.press("Escape")
    assert browser.eval(size) == small
    browser.eval(f"{chart}.focus()")
    browser.press("Enter")
    assert browser.eval(size) > 1.5 * small


def test_cases_are_filtered(browser: Browser, six: Path) -> None:
    """Rows and their details stay together when they are sorted."""
    browser.show(1024)
    browser.open(six.as_uri())
    browser.eval(OPEN_ALL)
    field = "document.querySelector('#cases-1 .filter')"
    browser.eval(f"{field}.querySelector('input').focus()")
    browser.type("GRAPH  batch=8 ")
    shown = browser.eval(
        f"[...{CASES}.tBodies].filter((body) => body.checkVisibility())"
        ".map((body) => body.rows[0].cells[0].textContent)"
    )
    assert shown == ["pytorch-cuda/graph/batch=8"]
    total = browser.eval(f"{CASES}.tBodies.length")
    assert browser.eval(f"{field}.querySelector('output').value") == f"1 of {total} rows"
    browser.eval(f"{CASES}.tHead.rows[0].cells[3].firstChild.click()")
    together = browser.eval(
        f"[...{CASES}.tBodies].every((body) => body.rows[1].textContent"
        ".includes(body.rows[0].cells[0].textContent))"
    )
    assert together


def test_it_needs_no_script(browser: Browser, saved: Path) -> None:
    browser.show(1024, medium="print", dark=True)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(saved.as_uri())
        assert browser.eval("document.querySelectorAll('button, input').length") == 0
        # On paper all sections are open, and there is no dark.
        assert browser.eval("document.querySelectorAll('details[open]').length") < 10
        assert browser.eval(
            "[...document.querySelectorAll('figure[id]')].every((f) => f.checkVisibility())"
        )
        assert browser.eval("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        browser.show(1024)
        href = browser.eval("document.querySelector('a[href^=\"#c\"]').href")
        browser.open("about:blank")
        browser.open(href)
        assert browser.eval("document.querySelector(':target pre').checkVisibility()")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
