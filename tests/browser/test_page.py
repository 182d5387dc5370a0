"""The page works in a browser, offline, at a desk and on a phone, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.report import write_report
from planner.run import load_run
from planner.run.explorer import explore
from tests.browser.chromium import Browser
from tests.report.conftest import SERVE

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)
CONTRAST = """(() => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => {
    const [r, g, b] = c.match(/[0-9.]+/g).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!c.endsWith(", 0)")) return c; }
  };
  const contrast = (e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const poor = [...document.querySelectorAll("h1, h2, h3, p, dt, dd, td, th, small, li, summary, a, label")]
    .filter((e) => e.innerText && contrast(e) < 4.5).map((e) => [contrast(e), e.innerText.slice(0, 30)]);
  return { poor, paper: light(getComputedStyle(document.body).backgroundColor) }; })()"""
ORDER = """[...document.querySelectorAll("#plansTable tbody tr")]
  .map((r) => JSON.parse(document.getElementById("data").textContent).front.itl[+r.dataset.row])"""
ROWS = 'document.querySelectorAll("#plansTable tbody tr").length'
DOTS = 'document.querySelectorAll("#scatter circle.front").length'


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a run with a front of several plans."""
    run = explore(SERVE, tmp_path_factory.mktemp("runs") / "serve").path
    write_report(run, run / "report.html")
    return run / "report.html"


@pytest.fixture(scope="session")
def front(page: Path) -> Any:
    """The front that the page shows."""
    return load_run(page.parent).front()


@pytest.mark.parametrize("width", WIDTHS)
def test_it_draws_the_front_and_fetches_nothing(browser: Browser, page: Path, front: Any, width: int) -> None:
    assert browser.open(page, width) == []
    assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
    assert browser.evaluate(DOTS) == len(front)
    assert browser.evaluate(ROWS) == len(front)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_sideways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    over = """[...document.querySelectorAll("h1, h2, h3, p, .card, .controls, .plot, .wide, .legend, pre")]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className || e.tagName)"""
    assert browser.evaluate(over) == []
    assert browser.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]


@pytest.mark.parametrize("width", WIDTHS)
def test_pointing_at_a_dot_shows_the_whole_plan(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    browser.mouse("mouseMoved", *browser.centre("#scatter circle.front"))
    text = browser.evaluate("document.getElementById('tip').innerText")
    for word in (
        "Hardware",
        "Precision",
        "Batch size",
        "Effective throughput",
        "Cost per million tokens",
        "ITL",
        "trial",
    ):
        assert word in text
    left, right = browser.evaluate(
        "(() => { const b = document.getElementById('tip').getBoundingClientRect(); return [b.left, b.right]; })()"
    )
    assert left >= 0
    assert right <= width


def test_a_heading_sorts_the_table(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    browser.click('th[data-key="itl"]')
    assert browser.evaluate("document.querySelector('th[data-key=\"itl\"]').ariaSort") == "ascending"
    up = browser.evaluate(ORDER)
    assert up == sorted(up)
    browser.click('th[data-key="itl"]')
    assert browser.evaluate(ORDER) == up[::-1]


def test_brushing_an_axis_keeps_the_plans_that_pass(browser: Browser, page: Path, front: Any) -> None:
    browser.open(page, 1280)
    x, y = browser.centre("#parallel .hit")
    height = browser.evaluate("document.querySelector('#parallel .hit').getBoundingClientRect().height")
    browser.mouse("mousePressed", x, y - height / 2 + 2)
    browser.mouse("mouseMoved", x, y)
    browser.mouse("mouseReleased", x, y)
    kept = browser.evaluate('[...document.querySelectorAll("#plansTable tbody tr")].map((r) => r.cells[0].textContent)')
    assert 0 < len(kept) < len(front)
    assert len(set(kept)) < front.hardware.nunique()
    browser.click("#clear")
    assert browser.evaluate(ROWS) == len(front)


def test_a_plan_that_is_clicked_stays(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    browser.click("#plansTable tbody tr:nth-child(2)")
    assert "planner explain" in browser.evaluate("document.getElementById('pinned').innerText")
    assert browser.evaluate("document.querySelectorAll('tr.on').length") == 1
    browser.click("#pinned button")
    assert browser.evaluate("document.getElementById('pinned').hidden") is True


def test_every_axis_can_be_chosen(browser: Browser, page: Path, front: Any) -> None:
    browser.open(page, 1280)
    names = browser.evaluate("[...document.getElementById('x').options].map((o) => o.value)")
    assert {"hardware", "batch_size", "itl", "effective_throughput"} <= set(names)
    for name in names:
        for axis in ("x", "y", "colour"):
            choose = f"s.value = '{name}'; s.dispatchEvent(new Event('change'));"
            browser.evaluate(f"(() => {{ const s = document.getElementById('{axis}'); {choose} }})()")
        assert browser.evaluate(DOTS) == len(front), name
        assert browser.evaluate("document.getElementById('scatter').innerHTML.includes('NaN')") is False, name


def test_infeasible_plans_are_shown_when_asked(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    count = "document.querySelectorAll('#scatter path[stroke-opacity]').length"
    assert browser.evaluate(count) == 0
    browser.click("#infeasible")
    assert browser.evaluate(count) > 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, 1280, dark=dark)
    found = browser.evaluate(CONTRAST)
    assert found["poor"] == []
    assert (found["paper"] < 0.1) == dark


def test_a_run_without_a_feasible_plan_still_has_its_page(browser: Browser, tmp_path: Path) -> None:
    study = SERVE | {
        "fixed": {"model": "Llama3_70B"}, "space": {"hardware": ["A100"], "precision": ["bf16"], "batch_size": [1, 8]},
        "objectives": [{"minimize": "itl"}], "constraints": [],
    }  # fmt: skip
    run = explore(study, tmp_path / "hopeless").path
    write_report(run, run / "report.html")
    assert browser.open(run / "report.html", 390) == []
    assert browser.evaluate("document.querySelector('h2').innerText") == "No plan is feasible"
    assert browser.evaluate("document.getElementById('front').hidden") is True
