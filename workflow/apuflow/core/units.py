"""Quantities with units, read and written: gem5's sizes (16kB), clocks (1GHz) and voltages (1.0V); durations.

Source: gem5 ``src/python/m5/util/convert.py``: in sizes k, M, G, T and Ki, Mi, Gi, Ti are powers of 1024.
"""

from __future__ import annotations

import re
from decimal import Decimal

_SIZE = re.compile(r"^(\d+)(k|Ki|Mi?|Gi?|Ti?)?B$")
_CLOCK = re.compile(r"^(\d+(?:\.\d+)?)(k|M|G|T)?Hz$")
_PERIOD = re.compile(r"^(\d+(?:\.\d+)?)(p|n|u|m)s$")
_VOLTAGE = re.compile(r"^(\d+(?:\.\d+)?)(m?)V$")
_BINARY = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_DECIMAL = {None: 0, "k": 1, "M": 2, "G": 3, "T": 4}
_SECONDS = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3}
_DURATIONS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = r"^\d+(\.\d+)?(s|m|h|d)$"
"""A duration as people write it: 90s, 30m, 12h, 7d."""


def size_bytes(text: str) -> int | None:
    """Bytes of ``16kB``, ``256MiB``; None if gem5 does not accept it as a size."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    number, prefix = match.groups()
    return int(number) * int(1024 ** _BINARY[(prefix or "")[:1]])


def clock_hertz(text: str) -> float | None:
    """Hertz of ``1GHz`` or of a period ``1ns``; None if it is neither."""
    match = _CLOCK.match(text.strip())
    if match is not None:
        number, prefix = match.groups()
        return float(number) * 1000.0 ** _DECIMAL[prefix] or None
    match = _PERIOD.match(text.strip())
    if match is None or float(match.group(1)) == 0:
        return None
    return 1.0 / (float(match.group(1)) * _SECONDS[match.group(2)])


def volts(text: str) -> Decimal | None:
    """Volts of ``1.0V`` or ``900mV``; None if it is neither."""
    match = _VOLTAGE.match(text.strip())
    return None if match is None else Decimal(match.group(1)) / (1000 if match.group(2) else 1)


def format_size(size: int) -> str:
    """The shortest exact gem5 size string of a number of bytes."""
    for prefix, scale in (("G", 1024**3), ("M", 1024**2), ("k", 1024)):
        if size % scale == 0 and size >= scale:
            return f"{size // scale}{prefix}B"
    return f"{size}B"


def format_clock(hertz: float) -> str:
    """The usual gem5 clock string of a frequency."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if round(hertz) >= scale:
            return f"{hertz / scale:.9g}{prefix}Hz"
    return f"{hertz:.9g}Hz"


def duration_seconds(text: str) -> float:
    """Seconds of a text that matches ``DURATION``."""
    return float(text[:-1]) * _DURATIONS[text[-1]]


def format_duration(seconds: float) -> str:
    """A duration for people: ``0.5 s``, ``45 s``, ``12 min``, ``3.5 h``, ``2.1 d``."""
    for unit, size, limit in (("s", 1, 90), ("min", 60, 90 * 60), ("h", 3600, 36 * 3600)):
        if seconds < limit:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{seconds / 86400:.1f} d"


def format_memory(size: int) -> str:
    """Main memory for people, in the GB that gem5's sizes have (1024 cubed): ``1.50 GB``, ``16.0 GB``."""
    value = size / 1024**3
    return f"{value:.2f} GB" if value < 10 else f"{value:.1f} GB"
