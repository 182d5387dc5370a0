"""The units that data files may use: each with its factor to SI and the SI unit that we hold.

A small table of its own, so that reading the catalogue does not load Pint; a test proves that Pint agrees.
"""

from __future__ import annotations

FACTORS: dict[str, tuple[float, str]] = {
    "byte": (1.0, "byte"),
    "MB": (1e6, "byte"),
    "GB": (1e9, "byte"),
    "TB": (1e12, "byte"),
    "MiB": (2.0**20, "byte"),
    "GiB": (2.0**30, "byte"),
    "TiB": (2.0**40, "byte"),
    "bit": (0.125, "byte"),
    "GB/s": (1e9, "byte/s"),
    "GiB/s": (2.0**30, "byte/s"),
    "TB/s": (1e12, "byte/s"),
    "Gb/s": (0.125e9, "byte/s"),
    "FLOP": (1.0, "FLOP"),
    "TFLOP/s": (1e12, "FLOP/s"),
    "TOP/s": (1e12, "FLOP/s"),
    "s": (1.0, "s"),
    "us": (1e-6, "s"),
    "hour": (3600.0, "s"),
    "year": (365.25 * 86400.0, "s"),
    "Hz": (1.0, "1/s"),
    "MHz": (1e6, "1/s"),
    "W": (1.0, "W"),
    "kW": (1e3, "W"),
    "USD": (1.0, "USD"),
    "USD/hour": (1.0, "USD/hour"),
    "USD/kWh": (1 / 3.6e6, "USD/J"),
    "g/kWh": (1 / 3.6e6, "g/J"),
    "token": (1.0, "token"),
    "ratio": (1.0, ""),
    "count": (1.0, ""),
    "flag": (1.0, "bool"),
    "date": (1.0, "date"),
    "text": (1.0, "text"),
}
"""Unit in a data file -> (factor, the unit held). One operation of integer arithmetic counts as one FLOP."""


def worded(unit: str) -> bool:
    """True for units whose values are words rather than numbers."""
    return unit in ("text", "date")
