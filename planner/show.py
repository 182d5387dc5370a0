"""Small tables and cards of facts for scripts: plain text, aligned by spaces, in a terminal or a notebook.

Nothing heavy is imported: a quantity is whatever has a `magnitude` and `units`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

_GAP = "   "


def table(headers: Sequence[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under headers; columns of numbers stand to the right, words to the left."""
    print(format_table(headers, rows))


def info(title: str, **items: Any) -> None:
    """Print a title and one named fact a line; underscores in names become spaces."""
    print(format_info(title, items))


def format_table(headers: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """The text that `table` prints.

    Raises:
        ValueError: a row has another number of cells than there are headers.
    """
    values = [list(row) for row in rows]
    for number, row in enumerate(values):
        if len(row) != len(headers):
            raise ValueError(f"row {number} has {len(row)} cells, and there are {len(headers)} headers")
    heads = [text(h) for h in headers]
    cells = [[text(v) for v in row] for row in values]
    widths = [max(map(width, column)) for column in zip(heads, *cells, strict=True)]
    right = [
        bool(values) and all(_is_figure(row[i], cells[n][i]) for n, row in enumerate(values)) for i in range(len(heads))
    ]
    lines = [heads, ["─" * w for w in widths], *cells]
    return "\n".join(
        _GAP.join(_padded(c, w, r) for c, w, r in zip(line, widths, right, strict=True)).rstrip() for line in lines
    )


def format_info(title: str, items: dict[str, Any]) -> str:
    """The text that `info` prints."""
    names = {name.replace("_", " "): text(value) for name, value in items.items()}
    room = max(map(width, names), default=0)
    lines = [f"  {_padded(name, room)}{_GAP}{value}".rstrip() for name, value in names.items()]
    return "\n".join([title, "─" * max(width(title), 1), *lines])


def text(value: Any) -> str:
    """A value as a person reads it: three significant digits, thousands apart, a quantity with its unit."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return " ".join(value.split("\n")).replace("\t", " ")
    if hasattr(value, "magnitude") and hasattr(value, "units"):
        unit = "" if getattr(value, "unitless", False) else f"{value.units:~P}"
        return f"{number(value.magnitude)} {unit}".strip()
    if isinstance(value, bool):
        return str(value)
    return number(value) if isinstance(value, Real) else text(str(value))


def number(value: Any) -> str:
    """A number in three significant digits (whole digits are never dropped): 0.0123, 8.00, 32.0, 1,234, 1.50e-07.

    What is no real number is given back as its text.
    """
    if isinstance(value, Integral):
        return str(int(value))  # plain digits: a script may read its own table again
    if not isinstance(value, Real):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "not a number")
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)) + 1e-12)
    if size < -4 or size >= 12:
        return f"{value:.2e}"
    return f"{value:,.{max(0, 2 - size)}f}"


def width(line: str) -> int:
    """How many columns of a terminal a text takes: wide characters two, combining marks none."""
    if line.isascii():
        return len(line)
    total = 0
    for position, sign in enumerate(line):
        if sign == "\ufe0f":  # the sign before it is drawn as a picture, two columns wide
            total += position > 0 and _sign_width(line[position - 1]) == 1
        elif position > 0 and line[position - 1] == "\u200d":
            continue  # joined to the picture before it
        else:
            total += _sign_width(sign)
    return total


def _sign_width(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _padded(line: str, room: int, right: bool = False) -> str:
    space = " " * (room - width(line))
    return space + line if right else line + space


def _is_figure(value: Any, shown: str) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return value[:1].isdigit() or value[:2].lstrip("+-−")[:1].isdigit() or value in ("–", "-", "")
    return value is None or isinstance(value, Real) or hasattr(value, "magnitude") or shown == "–"
