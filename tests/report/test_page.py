"""The page stands alone, says what the summary says, and cannot be broken by what a study is called."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planner.report import read_report, write_report
from planner.run import load_run


class Reader(HTMLParser):
    """What a page fetches, the ids it has, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.data = ""
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("img", "script", "link", "iframe", "source", "video"):
            self.fetched += [v for k in ("src", "href") if (v := given.get(k))]
        if identifier := given.get("id"):
            self.ids.append(identifier)
        self._in = "data" if given.get("id") == "data" else tag

    def handle_data(self, data: str) -> None:
        if self._in == "data":
            self.data += data
        elif self._in not in ("script", "style"):
            self.words.append(data)


@pytest.fixture(scope="module")
def html(serve: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_report(serve, path)
    return path.read_text()


def test_it_fetches_nothing(html: str) -> None:
    assert Reader(html).fetched == []
    assert not re.search(r"@import|url\(", html)
    assert "default-src 'none'" in html


def test_it_holds_the_front_and_a_sample(html: str, serve: Path) -> None:
    data = json.loads(Reader(html).data)
    front = load_run(serve).front()
    assert sorted(data["front"]["trial"]) == sorted(front.trial)
    by_trial = dict(zip(data["front"]["trial"], data["front"]["itl"], strict=True))
    assert by_trial[int(front.trial.iloc[0])] == pytest.approx(front.itl.iloc[0], rel=1e-4)
    assert len(data["others"]["trial"]) > 0
    lengths = {len(v["codes"] if isinstance(v, dict) else v) for v in data["others"].values()}
    assert len(lengths) == 1


def test_a_title_cannot_break_out(html: str) -> None:
    assert "<best>" not in html
    assert "What serves Llama-3-8B &lt;best&gt; &amp; cheapest?" in html


def test_data_cannot_end_their_element() -> None:
    from planner.report.page import _embedded

    assert "</script" not in _embedded({"a": "</script><b>"})
    assert json.loads(_embedded({"a": "</script>"})) == {"a": "</script>"}


def test_the_plans_reasons_and_sources_are_told(html: str, serve: Path) -> None:
    words = " ".join(" ".join(Reader(html).words).split())
    report = read_report(serve)
    for plan in report.findings.plans:
        assert plan.role in words
        assert all(said in words for _, said, _ in plan.figures)
    assert "Does not fit" in words
    assert "3.35 TB/s" in words
    assert "planner run" in words


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    ids = Reader(html).ids
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#(\w+)"', html)) <= set(ids)


def test_a_hopeless_run_has_a_page(hopeless: Path, tmp_path: Path) -> None:
    write_report(hopeless, tmp_path / "page.html")
    words = " ".join(Reader((tmp_path / "page.html").read_text()).words)
    assert "No plan is feasible" in words
    assert "nearest miss" in words


def test_it_appears_whole_or_not_at_all(serve: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_report(serve, tmp_path / "nowhere" / "page.html")
    assert list(tmp_path.iterdir()) == []
