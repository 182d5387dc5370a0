"""Pages in a real browser: `pytest -m browser`, which needs Debian's `chromium` (or CHROMIUM=/path/to/it)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browsers are driven only when they are asked for."""
    if "browser" in (config.getoption("-m") or ""):
        return
    mine = [i for i in items if i.get_closest_marker("browser")]
    items[:] = [i for i in items if i not in mine]
    config.hook.pytest_deselected(items=mine)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "no chromium: apt-get install chromium, or set CHROMIUM"
    made = Browser(found)
    yield made
    made.close()
