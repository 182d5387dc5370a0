"""What is wrong with a study, noted key by key while it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from solvers.complaints import Complaint

Path = tuple[Any, ...]
Place = Callable[[Path], str]


class Notes:
    """A study's data and the complaints about it: what is broken is noted, and what depends on it is left out."""

    def __init__(self, data: Any, place: Place) -> None:
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self.place = place
        self.complaints: list[Complaint] = []
        if not isinstance(data, dict) or not data:
            self.complain((), "is not a study: keys such as title, solvers, space and objectives are due")

    def complain(self, path: Path, message: str) -> None:
        """Note a complaint about the value at a path."""
        key = ".".join(str(p) for p in path if not isinstance(p, int))
        self.complaints.append(Complaint(key, message, self.place(path)))

    def once(self) -> list[Complaint]:
        """The complaints, each once."""
        return list({str(c): c for c in self.complaints}.values())

    def section(self, key: str, kind: type) -> Any:
        """The list or the keys under a key of the study; empty where there are none."""
        given = self.data.get(key)
        if given is None:
            return kind()
        if not isinstance(given, kind):
            self.complain((key,), "a list is due" if kind is list else "keys with values are due")
            return kind()
        return given

    def text(self, key: str, default: str) -> str:
        """A text under a key of the study."""
        given = self.data.get(key, default)
        if not isinstance(given, (str, int, float)):
            self.complain((key,), "a text is due")
            return default
        return str(given)
