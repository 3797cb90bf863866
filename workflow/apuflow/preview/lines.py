"""Lines and pages under elements of a buffer, and rows of them."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

LINE = 64
PAGE = 4096


def lines_of(elements: float) -> float:
    """Lines of a packed float32 buffer that starts on a line."""
    return float(-(-elements * 4 // LINE))


def pages_of(elements: float) -> float:
    """Pages of a packed float32 buffer that starts on a page."""
    return float(-(-elements * 4 // PAGE))


def parts_of(size: int, part: int) -> list[tuple[int, int]]:
    """How often ``size`` has which part: whole ones of ``part`` elements, and the rest."""
    whole, rest = divmod(size, part)
    return [(often, elements) for often, elements in ((whole, part), (1, rest)) if often and elements]


def region_lines(rows: int, elements: int, pitch: int, together: int = 1, regions: int = LINE) -> float:
    """Mean distinct lines of rows of ``elements`` of 4 bytes, ``pitch`` bytes apart.

    There are ``regions`` of them, each ``together`` rows after the one before, the first at a line's begin.
    """
    # Matrices whose rows have other whole lines, and other ones between them, have much in common.
    whole = (4 * elements - 1) // LINE
    pitch -= whole * LINE
    pitch = min(pitch, 2 * LINE + pitch % LINE)  # from two lines on none is shared by two rows
    begins = min(regions, LINE // gcd(pitch * together, LINE))
    more = _region_lines(rows, 4 * elements - whole * LINE, pitch, together, begins)
    return (begins * rows * whole + more) / begins


@lru_cache(maxsize=65536)
def _region_lines(rows: int, size: int, pitch: int, together: int, regions: int) -> int:
    """Lines of all regions, whose rows are of ``size`` bytes: no more than a line."""
    # How many lines a row has that the one before has not turns on its place in a line, which comes again.
    between = gcd(pitch, LINE)
    new = [_new_lines(place, size, pitch) for place in range(0, LINE, between)]
    again, rest = divmod(max(0, rows - 1), len(new))
    total = regions * again * sum(new)
    for region in range(regions if rows else 0):
        begin = region * pitch * together % LINE
        total += (begin + size - 1) // LINE + 1
        for row in range(1, rest + 1):
            total += new[(begin + row * pitch) % LINE // between]
    return total


def _new_lines(start: int, size: int, pitch: int) -> int:
    """Lines under ``size`` bytes from ``start`` on that those ``pitch`` bytes before are not in."""
    end = start + size - 1
    return end // LINE - max(start // LINE - 1, (end - pitch) // LINE)


@lru_cache(maxsize=65536)
def span_lines(size: float, stride: int) -> float:
    """Mean lines under a span of ``size`` bytes that starts at multiples of ``stride`` bytes."""
    period = LINE // gcd(stride, LINE) if stride else 1
    total = 0
    for k in range(period):
        total += int((k * stride % LINE + max(4, int(size)) - 1) // LINE) + 1
    return total / period
