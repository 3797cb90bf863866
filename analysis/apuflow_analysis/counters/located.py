"""Find the rows that counters need in a block of statistics without reading the rest.

Most of a block are the rows of the wavefront slots of each compute unit. All compute units print the same
rows in the same order, so a row of one unit lies about as far from the row before as it did in the unit
before: it is looked for there, and where it is not, everywhere. Names are unique within a dump, so a row that
is found is the right one wherever it stood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.blocks import Block
from apuflow.gem5.stats.checks import ACTIVE, LAUNCHED, UNITS
from apuflow.gem5.stats.rows import Damage, first_number
from apuflow_analysis.counters.table import SLOT
from apuflow_analysis.counters.terms import NAN, Snapshot, matches, unit_rows

_ACTIVE = f"{ACTIVE} ".encode()
_LAUNCHED = LAUNCHED.encode()
_NEARBY = (96, 4096)
_CELLS = 64
"""Bytes behind a name that have its first number."""
_AROUND_UNIT = 1 << 14
_SLOT = re.compile(SLOT.encode())

Place = tuple[str, bytes, int]
"""A row within a compute unit: its name, how its line goes on after the unit's name, its distance from the
unit's first row."""


def locate(block: Block) -> Snapshot | None:
    """What counters need of a block; the values equal those of a full reading.

    Returns:
        ``None`` when the block has no GPU or several, or its compute units are not laid out alike: read it
        whole then.

    Raises:
        AnalysisError: the value of a row is no number.
    """
    text, start, stop = block.text, block.start, block.stop
    active = text.find(_ACTIVE, start, stop)
    shader = text[text.rfind(b"\n", start, active) + 1 : active] if active >= 0 else b""
    if not shader.startswith(b"system."):
        return None
    units = _Units(block, shader)
    values = units.read()
    if not units.alike:
        return None
    others = text[start : units.start] + text[units.stop : stop]
    if others.count(_ACTIVE) != 1 or units.array in others:
        return None
    rows = {name: cells for name, _, cells in (line.partition(b" ") for line in others.split(b"\n"))}
    launched = next((cells for name, cells in rows.items() if name.endswith(_LAUNCHED)), b"")
    return Snapshot(
        shader.decode(),
        values,
        lambda name: _number(rows.get(name.encode(), b"")),
        _number(launched),
        units.slots or NAN,
    )


def _number(cells: bytes) -> float | None:
    try:
        return first_number(cells)
    except Damage as damage:
        raise AnalysisError(f"the statistics are damaged: {damage}") from None


class _Units:
    """The wanted rows of all compute units of a block.

    Attributes:
        array: how each of their rows begins.
        slots: wavefront slots of a compute unit.
        start, stop: where the rows of the first unit begin and of the last end.
        alike: whether there are units, numbered without a gap, and the first and the last of them have no
            others' rows among theirs, and no unit has a wanted row that the first lacks.
    """

    def __init__(self, block: Block, shader: bytes) -> None:
        self._text, self._bounds = block.text, (block.start, block.stop)
        self.array = b"\n%b.%b" % (shader, UNITS.encode())
        self._row = re.compile(rb"%b(\d*)\.([^ \n]+ )" % re.escape(self.array))
        self.slots = 0
        self.start = self.stop = self._text.find(self.array, *self._bounds)
        self.alike = self.start >= 0

    def read(self) -> list[Mapping[str, float]]:
        """The rows of one unit after the other, in the order in which they are printed: CUs0, CUs1, CUs10."""
        row = self._row.match(self._text, self.start) if self.alike else None
        lead = b"." + row[2] if row else b""
        numbers: list[bytes] = []
        values: list[Mapping[str, float]] = []
        places: Sequence[Place] = ()
        length = 0
        while row:
            prefix, at = self.array + row[1] + b".", row.start()
            numbers.append(row[1])
            row = self._following(lead, prefix, at, length)
            self.stop = row.start() if row else self._end(prefix, at, length)
            if not values:
                places = self._layout(prefix, at)
            if not values or row is None:
                rows = self._text[at : self.stop]
                self.alike = self.alike and rows.count(b"\n") == rows.count(prefix)
            values.append(self._read(prefix, at, places))
            length = self.stop - at
        expected = [b""] if len(numbers) == 1 else [b"%d" % number for number in range(len(numbers))]
        self.alike = self.alike and sorted(numbers) == sorted(expected)
        return values

    def _following(self, lead: bytes, prefix: bytes, at: int, length: int) -> re.Match[bytes] | None:
        """The first row of the next unit: about where this one would end, else anywhere behind it."""
        near, stop = at + length, self._bounds[1]
        spans = [(near - _AROUND_UNIT, min(near + _AROUND_UNIT, stop))] if length else []
        for low, high in (*spans, (at + len(prefix) + len(lead), stop)):
            place = self._text.find(lead, low, high)
            while place >= 0:
                row = self._row.match(self._text, self._text.rfind(b"\n", low, place))
                if row and not row[0].startswith(prefix):
                    return row
                place = self._text.find(lead, place + 1, high)
        return None

    def _end(self, prefix: bytes, at: int, length: int) -> int:
        """Where the last row of the last unit ends."""
        stop = self._bounds[1]
        near = at + length
        last = self._text.rfind(prefix, near - _AROUND_UNIT, near + _AROUND_UNIT) if length else -1
        if last < 0 or self._text.find(prefix, last + 1, last + 4 * _AROUND_UNIT) >= 0:
            last = self._text.rfind(prefix, at, stop)
        return self._text.find(b"\n", last + 1, stop)

    def _layout(self, prefix: bytes, at: int) -> Sequence[Place]:
        """Where the wanted rows of the first unit lie. Rows that it lacks must be lacking everywhere."""
        exact = {name.encode() for name in unit_rows() if "*" not in name}
        patterns = [name for name in unit_rows() if "*" in name]
        places: list[Place] = []
        place = 0
        for line in self._text[at : self.stop].split(prefix)[1:]:
            name = line[: line.find(b" ")]
            self.slots += bool(_SLOT.fullmatch(name))
            if name in exact or any(matches(pattern, name.decode()) for pattern in patterns):
                places.append((name.decode(), name + b" ", place))
            place += len(prefix) + len(line)
        lacking = exact - {name.encode() for name, _, _ in places}
        elsewhere = (self._text.find(b"." + name + b" ", *self._bounds) for name in lacking)
        self.alike = self.alike and all(place < 0 for place in elsewhere)
        return places

    def _read(self, prefix: bytes, at: int, places: Sequence[Place]) -> dict[str, float]:
        values: dict[str, float] = {}
        drift = 0
        for name, rest, distance in places:
            line = prefix + rest
            place = at + distance + drift
            row = self._text[place : place + len(line) + _CELLS]
            if not row.startswith(line):
                place = self._find(line, place)
                if place < 0:
                    continue
                drift = place - at - distance
                row = self._text[place : place + len(line) + _CELLS]
            value = _number(row[len(line) :])
            if value is not None:
                values[name] = value
        return values

    def _find(self, line: bytes, near: int) -> int:
        """Where a line stands, near a place or anywhere; negative: nowhere."""
        start, stop = self._bounds
        for width in _NEARBY:
            place = self._text.find(line, max(near - width, start), min(near + width + len(line), stop))
            if place >= 0:
                return place
        return self._text.find(line, start, stop)
