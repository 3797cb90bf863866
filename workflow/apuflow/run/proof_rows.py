"""What every row of a block of gem5's statistics must satisfy, and rows that follow each other together.

The grammar is that of gem5's src/base/stats/text.cc (the same from v21.0.1.0 to v24.0.0.1): a name padded to
40 columns, a blank, a value right-aligned in 12, two shares right-aligned in 10 after a blank each, then the
description. Where a page of the file was lost, a row is put together from two others: its columns are not
where they should be, or a distribution no longer adds up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

_NAME_WIDTH, _VALUE_WIDTH, _SHARES_WIDTH = 40, 12, 22
_NUMBER = rb"-?(?:\d+(?:\.\d+)?|nan|inf)"
_SHARE = rb" +-?(?:\d+\.\d+|nan|inf)%"
_VALUE = re.compile(_NUMBER)
_NO_SHARES = b" " * _SHARES_WIDTH
_SHARES = re.compile(rb"%b(?:%b| {11})" % (_SHARE, _SHARE))
_CELL = re.compile(rb" +(%b)(?:%b){0,2} *" % (_NUMBER, _SHARE))
_ONELINE = re.compile(rb"(?: \|%b)+(?: # .*| \(.*)?\n" % _CELL.pattern)
_BEHIND = (b" #", b" (", b"\n")
_COLUMNS = "its columns are not where gem5 puts them"

_MOMENTS = (b"samples", b"mean", b"gmean", b"stdev", b"min_value", b"max_value", b"total")
_LAYOUT = (b"bucket_size", b"min_bucket", b"max_bucket")
_NO_BUCKETS = frozenset((*_MOMENTS, *_LAYOUT))


class Damage(Exception):
    """Why a block of statistics cannot be what gem5 wrote."""


class Rows:
    """The rows of one block, each checked as it comes.

    Attributes:
        values: name to value, as printed.
        cells: number of cells of every row that holds several.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.cells: dict[bytes, int] = {}
        self._base = b""
        self._parts: dict[bytes, bytes] = {}
        self._numbers: Sequence[float] | None = None

    def add(self, line: bytes) -> None:
        """Take a row.

        Raises:
            Damage: it is none that gem5 writes, its name came before, or the distribution or vector that
                ended before it does not add up.
        """
        if b"\0" in line:
            raise Damage("it holds bytes of zero")
        words = line.split(None, 2)
        if len(words) < 2:
            raise Damage("it is no row of statistics")
        name, value = words[0], words[1]
        if value == b"|":
            self._add_cells(name, line)
            return
        if not value.isdigit() and _VALUE.fullmatch(value) is None:
            raise Damage(f"{_text(value)} is no number as gem5 writes them")
        size = len(value)
        end = max(len(name), _NAME_WIDTH) + 1 + (size if size > _VALUE_WIDTH else _VALUE_WIDTH)
        shares = line[end : end + _SHARES_WIDTH]
        if (
            line[end - size : end] != value
            or line[: len(name)] != name
            or (shares != _NO_SHARES and _SHARES.fullmatch(shares) is None)
            or line[end + _SHARES_WIDTH : end + _SHARES_WIDTH + 2] not in _BEHIND
        ):
            raise Damage(_COLUMNS)
        if name in self.values:
            raise Damage("its name came before")
        base, parted, part = name.partition(b"::")
        if base != self._base:
            self.close()
            self._base = base
        if parted:
            self._parts[part] = value
        self.values[name] = value

    def _add_cells(self, name: bytes, line: bytes) -> None:
        text = line[max(len(name), _NAME_WIDTH) :]
        if line[: len(name)] != name or _ONELINE.fullmatch(text) is None:
            raise Damage(_COLUMNS)
        if name in self.cells:
            raise Damage("its name came before")
        if name != self._base:
            self.close()
            self._base = name
        numbers = [float(match[1]) for match in re.finditer(rb"\|" + _CELL.pattern, text)]
        self.cells[name] = len(numbers)
        self._numbers = numbers

    def close(self) -> None:
        """The rows of a vector or distribution are all there.

        Raises:
            Damage: they do not add up.
        """
        base, parts, cells = self._base, self._parts, self._numbers
        self._base, self._parts, self._numbers = b"", {}, None
        if b"samples" in parts:
            _check_distribution(base, parts, cells)
        elif b"stdev" in parts or b"underflows" in parts or b"bucket_size" in parts:
            raise Damage(f"{_text(base)}::samples is missing before it")
        elif cells is not None:
            total = parts.get(b"total")
            if total is None:
                raise Damage(f"{_text(base)}::total is missing before it")
            if sum(cells) != float(total):
                raise Damage(
                    f"the cells of {_text(base)}, before it, add up to {sum(cells):.0f}, not to its total"
                )
        elif b"0" in parts.values() and all(map(bytes.isdigit, parts)):
            _check_numbered(base, parts)


def _check_numbered(base: bytes, parts: Iterable[bytes]) -> None:
    """A vector that prints elements of 0 prints all of them."""
    for number, part in enumerate(parts):
        if part != b"%d" % number:
            raise Damage(f"{_text(base)}::{number} is missing before it")


def _check_distribution(base: bytes, parts: Mapping[bytes, bytes], cells: Sequence[float] | None) -> None:
    """Every sample is in a bucket: gem5 counts it there when it counts it."""
    buckets = [float(value) for part, value in parts.items() if part not in _NO_BUCKETS]
    if b"bucket_size" in parts and cells is None:
        raise Damage(f"the row of the buckets of {_text(base)} is missing before it")
    if b"bucket_size" in parts:
        low, high = (float(parts.get(part, b"0")) for part in (b"min_bucket", b"max_bucket"))
        expected = math.ceil((high - low + 1) / float(parts[b"bucket_size"]))
        if len(cells or ()) != expected:
            raise Damage(f"{_text(base)}, before it, has {len(cells or ())} buckets instead of {expected}")
    if not buckets and cells is None and b"total" not in parts:
        return  # an average: it keeps no buckets
    counted, samples = sum(buckets) + sum(cells or ()), float(parts[b"samples"])
    if counted != samples or float(parts.get(b"total", b"nan")) != samples:
        raise Damage(
            f"the buckets of {_text(base)}, before it, hold {counted:.0f} of {samples:.0f} samples,"
            f" its total is {_text(parts.get(b'total', b'missing'))}"
        )


def _text(piece: bytes) -> str:
    return piece[:120].decode(errors="replace")
