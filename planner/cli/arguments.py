"""`key=value` arguments."""

from __future__ import annotations

from collections.abc import Iterable

import click

_WORDS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def key_values(pairs: Iterable[str]) -> dict[str, str]:
    """The values by key, as text.

    Raises:
        click.UsageError: an argument has no `=` or no key, or a key comes twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        key = key.strip()
        if not sign or not key or not value.strip():
            raise click.UsageError(f"{pair!r} is not key=value, such as batch_size=8 or memory_bandwidth='4 TB/s'")
        if key in found:
            raise click.UsageError(f"{key} is given twice")
        found[key] = value.strip()
    return found


def truth(text: str) -> bool | str:
    """True or false for the usual words, and anything else as it is."""
    return _WORDS.get(text.lower(), text)


def number(text: str) -> float | str:
    """A plain number, which is taken to be in the unit that is due; anything else as it is."""
    try:
        return float(text)
    except ValueError:
        return text
