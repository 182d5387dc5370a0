"""Every test starts as a fresh process would: nothing has been warned of yet."""

from __future__ import annotations

import pytest

from solvers import telling


@pytest.fixture(autouse=True)
def _nothing_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_warned", set())
