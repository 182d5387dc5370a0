from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from planner.study import Study, load_study
from tests.planner.toy import MENU, study_data

settings.register_profile("planner", deadline=None, max_examples=60)
settings.load_profile("planner")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Study]:
    """Makes studies of the toy solvers, which are on the menu meanwhile."""
    monkeypatch.setattr("solvers.menu.SOLVERS", MENU)

    def make(settings: Any = (), **changes: Any) -> Study:
        return load_study(study_data(**changes), settings)

    return make
