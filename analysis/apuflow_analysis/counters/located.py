"""Find the rows that counters need in a block of statistics without reading the rest.

Most of a block are the rows of the wavefront slots of each compute unit. All compute units print the same
rows in the same order, so a row of one unit lies about as far from the row before as it did in the unit
before: it is looked for there, and where it is not, everywhere. Names are unique within a dump, so a row that
is found is the right one wherever it stood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.table import ACTIVE, LAUNCHED, SLOT
from apuflow_analysis.counters.terms import NAN, Snapshot, unit_rows
from apuflow_analysis.stats.files import Text

_ACTIVE = f"{ACTIVE} ".encode()
_LAUNCHED = LAUNCHED.encode()
_NEARBY = (96, 4096)
_CELLS = 64
"""Bytes behind a name that have its first number."""
_AROUND_UNIT = 1 << 14
_NUMBER = re.compile(rb"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)")
_SLOT = re.compile(SLOT.encode())

Place = tuple[str, bytes, int]
"""A row within a compute unit: its name, how its line goes on after the unit's name, its distance from the
unit's first row."""


def locate(text: Text, start: int, stop: int) -> Snapshot | None:
    """What counters need of the block ``text[start:stop]``; the values equal those of a full reading.

    Returns:
        ``None`` when the block has no GPU or several, or its compute units are not laid out alike: read it
        whole then.
    """
    active = text.find(_ACTIVE, start, stop)
    if active < 0:
        return None
    shader = text[text.rfind(b"\n", start, active) + 1 : active]
    units = _Units(text, start, stop, shader)
    if not units.alike or not shader.startswith(b"system."):
        return None
    if text.find(_ACTIVE, active + 1, units.start) >= 0 or text.find(_ACTIVE, units.stop, stop) >= 0:
        return None
    rows = _rows(text, start, units.start) | _rows(text, units.stop, stop)
    launched = next((cells for name, cells in rows.items() if name.endswith(_LAUNCHED)), b"")

    def row(name: str) -> float | None:
        return _number(rows.get(name.encode(), b""))

    return Snapshot(shader.decode(), units.values, row, _number(launched), units.slots or NAN)


def _rows(text: Text, start: int, stop: int) -> dict[bytes, bytes]:
    """The lines after the one that ``start`` lies in: their names, and what stands behind each."""
    lines = text[start:stop].split(b"\n")[1:]
    return {name: cells for name, _, cells in [line.partition(b" ") for line in lines]}


def _number(cells: bytes) -> float | None:
    """The number that a row begins with behind its name; None where there is none, or several cells."""
    text = next(iter(cells.split(None, 1)), b"|")
    if text.isdigit():
        return float(text)
    if text.startswith(b"|"):
        return None
    if _NUMBER.fullmatch(text) is None:
        raise AnalysisError(
            "the statistics are damaged: a value is no number", value=text.decode(errors="replace")
        )
    return float(text)


class _Units:
    """The wanted rows of all compute units of a block.

    Attributes:
        values: one mapping per compute unit.
        slots: wavefront slots of a compute unit.
        start, stop: where the rows of the first unit begin and of the last end.
        alike: whether the units were found, are numbered without a gap and (the first and the last, which are
            looked at in full) have no other rows among theirs.
    """

    def __init__(self, text: Text, start: int, stop: int, shader: bytes) -> None:
        self._text = text
        self._bounds = start, stop
        self._prefix = b"\n" + shader + b"."
        self._line = re.compile(re.escape(self._prefix) + rb"(CUs\d*)\.([^ \n]+) ")
        self.values: list[Mapping[str, float]] = []
        self.slots = 0
        self.start = self.stop = text.find(self._prefix + b"CUs", start, stop)
        first = self._line.match(text, self.start) if self.start >= 0 else None
        self.alike = first is not None
        if first is not None:
            names = list(self._walk(first))
            self.alike = self.alike and sorted(names) == sorted(_numbered(len(names)))

    def _walk(self, unit: re.Match[bytes]) -> Iterator[bytes]:
        """Read one unit after the other; give their names."""
        lead = b"." + unit[2] + b" "
        places: Sequence[Place] = ()
        length = 0
        while True:
            prefix, at = self._prefix + unit[1] + b".", unit.start()
            following = self._following(lead, prefix, at, length)
            self.stop = following.start() if following else self._last_row(prefix, at, length)
            if not places:
                places = self._layout(prefix, at)
            if not self.values or following is None:
                rows = self._text[at : self.stop]
                self.alike = self.alike and rows.count(b"\n") == rows.count(prefix)
            self.values.append(self._read(prefix, at, places))
            yield unit[1]
            if following is None:
                return
            unit, length = following, self.stop - at

    def _following(self, lead: bytes, prefix: bytes, at: int, length: int) -> re.Match[bytes] | None:
        """The first row of the next unit: about where this one would end, else anywhere behind it."""
        stop = self._bounds[1]
        spans = [(at + len(prefix) + len(lead), stop)]
        if length:
            spans.insert(0, (at + length - _AROUND_UNIT, min(at + length + _AROUND_UNIT, stop)))
        for low, high in spans:
            place = self._text.find(lead, low, high)
            while place >= 0:
                line = self._line.match(self._text, self._text.rfind(b"\n", low, place))
                if line and self._text[line.start() : line.start() + len(prefix)] != prefix:
                    return line
                place = self._text.find(lead, place + 1, high)
        return None

    def _last_row(self, prefix: bytes, at: int, length: int) -> int:
        """Where the last row of a unit ends that no other follows."""
        stop = self._bounds[1]
        near = at + length
        last = self._text.rfind(prefix, near - _AROUND_UNIT, near + _AROUND_UNIT) if length else -1
        if last < 0 or self._text.find(prefix, last + 1, last + 4 * _AROUND_UNIT) >= 0:
            last = self._text.rfind(prefix, at, stop)
        return self._text.find(b"\n", last + 1, stop)

    def _layout(self, prefix: bytes, at: int) -> Sequence[Place]:
        """Where the wanted rows of the first unit lie. Rows that it lacks must be lacking everywhere."""
        wanted = [name.encode() for name in unit_rows()]
        exact = {name for name in wanted if not name.endswith(b"*")}
        open_ended = tuple(name[:-1] for name in wanted if name.endswith(b"*"))
        places: list[Place] = []
        place = 0
        for line in self._text[at : self.stop].split(prefix)[1:]:
            name = line[: line.find(b" ")]
            self.slots += bool(_SLOT.fullmatch(name))
            if name in exact or name.startswith(open_ended):
                places.append((name.decode(), name + b" ", place))
            place += len(prefix) + len(line)
        lacking = exact - {name.encode() for name, _, _ in places}
        self.alike = self.alike and not any(
            self._text.find(b"." + name + b" ", *self._bounds) >= 0 for name in lacking
        )
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


def _numbered(count: int) -> list[bytes]:
    """The names of an array of compute units: without a number if there is only one."""
    return [b"CUs"] if count == 1 else [b"CUs%d" % number for number in range(count)]
