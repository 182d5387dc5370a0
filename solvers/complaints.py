"""Complaints about an input, gathered and reported together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong: which key, and a sentence that says what was given and what would do."""

    key: str
    message: str
    place: str = ""

    def __str__(self) -> str:
        head = f"{self.place}: " if self.place else ""
        return f"{head}{self.key}: {self.message}" if self.key else f"{head}{self.message}"


class InvalidInput(ValueError):
    """What was asked cannot be read or makes no sense; carries every complaint at once."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(str(c) for c in self.complaints))


class InfeasiblePlan(ValueError):
    """Raised under `strict=True` when the plan cannot be; carries the answer and says why."""

    def __init__(self, message: str, answer: Any = None) -> None:
        self.answer = answer
        super().__init__(message)


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'tp_size'?`, or the empty string when nothing is close."""
    names = list(known)
    folded: dict[str, str] = {}
    for n in names:
        folded.setdefault(n.lower(), n)
    given = name.lower()
    begun = [
        n for n in names if len(part := n.lower().split("_")[0]) > 1 and given != n.lower() and given.startswith(part)
    ]
    alike = [folded[c] for c in difflib.get_close_matches(given, list(folded), n=3, cutoff=0.6)]
    within = [n for n in names if given in n.lower().split("_")]
    ordered = [*alike, *begun] if len(given) > 4 else [*begun, *alike]  # of a short name, the beginning says most
    close = [n for n in dict.fromkeys([*ordered, *within]) if n != name][:3]
    return f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
