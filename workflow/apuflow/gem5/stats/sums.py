"""What rows that follow each other must satisfy: no name comes twice, and vectors and distributions add up.

Where a page of the file was lost, a row is put together from two others, or rows are missing or come twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from apuflow.gem5.stats.blocks import Fault
from apuflow.gem5.stats.rows import Damage, Rows, is_zero
from apuflow.gem5.stats.values import LAYOUT, MOMENTS

_NO_BUCKETS = frozenset((*MOMENTS, *LAYOUT))


def first_fault(rows: Rows) -> Fault | None:
    """The first line of a block that gem5 cannot have written there; None: there is none.

    A vector or distribution is found fault with at the line behind it.
    """
    return min((*rows.faults[:1], *_doubled(rows), *_wrong_sums(rows)), default=None)


def _doubled(rows: Rows) -> Iterator[Fault]:
    """The first row whose name came before. A row with a number and one with cells can share their name."""
    if len(rows.numbers) + len({rows.names[row] for row in rows.oneline}) == len(rows):
        return
    seen: set[tuple[str, bool]] = set()
    for row, name in enumerate(rows.names):
        if (name, row in rows.oneline) in seen:
            yield Fault(rows.line(row), "its name came before")
            return
        seen.add((name, row in rows.oneline))


def _wrong_sums(rows: Rows) -> Iterator[Fault]:
    """Vectors and distributions that do not add up, at the line behind each."""
    names, numbers, count = rows.names, rows.values.tolist(), len(rows)
    base, last = "", -1
    parts: dict[str, float] = {}
    cells: Sequence[float] | None = None
    for row in (*(row for row, name in enumerate(names) if "::" in name or row in rows.oneline), count):
        name, _, part = names[row].partition("::") if row < count else ("", "", "")
        if name != base or row != last + 1:
            try:
                _check(base, parts, cells)
            except Damage as damage:
                yield Fault(rows.line(last) + 1, str(damage))
            base, parts, cells = name, {}, None
        last = row
        if part:
            parts[part] = numbers[row]
        elif row in rows.oneline:
            cells = rows.cell_values(row)


def _check(base: str, parts: Mapping[str, float], cells: Sequence[float] | None) -> None:
    """The rows of one vector or distribution are all there and add up."""
    if "samples" in parts:
        _check_distribution(base, parts, cells)
    elif not parts.keys().isdisjoint(("stdev", "underflows", "bucket_size")):
        raise Damage(f"{base}::samples is missing before it")
    elif cells is not None:
        if "total" not in parts:
            raise Damage(f"{base}::total is missing before it")
        if sum(cells) != parts["total"]:
            raise Damage(f"the cells of {base}, before it, add up to {sum(cells):.0f}, not to its total")
    elif any(map(is_zero, parts.values())) and all(map(str.isdigit, parts)):
        # a vector that prints elements of 0 prints all of them
        for number, part in enumerate(parts):
            if part != str(number):
                raise Damage(f"{base}::{number} is missing before it")


def _check_distribution(base: str, parts: Mapping[str, float], cells: Sequence[float] | None) -> None:
    """Every sample is in a bucket: gem5 counts it there when it counts it."""
    buckets = [value for part, value in parts.items() if part not in _NO_BUCKETS]
    if "bucket_size" in parts:
        if cells is None:
            raise Damage(f"the row of the buckets of {base} is missing before it")
        width = parts.get("max_bucket", 0) - parts.get("min_bucket", 0) + 1
        size = parts["bucket_size"]
        expected = math.ceil(width / size) if size > 0 and math.isfinite(width) else "none without a size"
        if len(cells) != expected:
            raise Damage(f"{base}, before it, has {len(cells)} buckets instead of {expected}")
    if not buckets and cells is None and "total" not in parts:
        return  # an average: it keeps no buckets
    counted, samples, total = sum(buckets) + sum(cells or ()), parts["samples"], parts.get("total")
    if counted != samples or total != samples:
        raise Damage(
            f"the buckets of {base}, before it, hold {counted:.0f} of {samples:.0f} samples,"
            f" its total is {'missing' if total is None else f'{total:.0f}'}"
        )
