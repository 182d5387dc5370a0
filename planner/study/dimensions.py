"""Units and dimensions of expressions, as plain data."""

from __future__ import annotations

import functools
from typing import Any

Dimension = tuple[tuple[str, float], ...]
"""Powers of base dimensions, sorted by name."""
COUNTS = ("[token]", "[sample]", "[parameter]")
"""The dimensions that a plain number may stand for."""


@functools.cache
def measured(unit: str) -> tuple[float, Dimension]:
    """A unit's factor to SI base units, and its dimension. Raises a ValueError for what is no unit."""
    from solvers.units import UnitError, factor
    from solvers.units import unit as pint_unit

    try:
        held = factor(unit)
    except AssertionError as problem:  # what Pint's tokenizer makes of signs that it does not know
        raise UnitError(f"{unit!r} is not a unit") from problem
    dimension: Any = pint_unit(unit).dimensionality
    return held, tuple(sorted((str(n), float(e)) for n, e in dimension.items()))


def is_unit(name: str) -> bool:
    """Whether a text is a unit."""
    try:
        measured(name)
    except ValueError:
        return False
    return True


_SYMBOLS = {"[time]": "s", "[information]": "byte", "[work]": "FLOP", "[token]": "token", "[sample]": "sample",
            "[parameter]": "parameter", "[currency]": "USD", "[length]": "m", "[mass]": "kg"}  # fmt: skip
_NAMED = {"kg*m*m/s/s": "J", "kg*m*m/s/s/s": "W"}


def base_unit(dimension: Dimension) -> str:
    """The SI base unit of a dimension, as text (`token/s`)."""
    above, below = "", ""
    for name, exponent in sorted(dimension, key=lambda d: (_SYMBOLS.get(d[0], d[0]) == "s", d[0] != "[mass]")):
        symbol = _SYMBOLS.get(name, name.strip("[]"))
        above += f"*{symbol}" * round(max(exponent, 0))
        below += f"/{symbol}" * round(max(-exponent, 0))
    text = f"{above[1:] or '1'}{below}" if above or below else ""
    return _NAMED.get(text, text)
