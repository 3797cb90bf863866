"""Write statistics as gem5 does, statement by statement after src/base/stats/text.cc, for tests.

Independent of the reader: it knows how numbers, padding, shares and one-line rows are printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

BEGIN = "\n---------- Begin Simulation Statistics ----------\n"
END = "\n---------- End Simulation Statistics   ----------\n"


def number(value: float) -> str:
    """ValueToString: integral values without decimals, others with six."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if value == round(value) else f"{value:.6f}"


@dataclass
class Printer:
    """Collects lines; ``spaces`` and ``desc`` are gem5's options of the same names."""

    spaces: bool = True
    desc: bool = True
    lines: list[str] = field(default_factory=list)

    def _columns(self, value: float, pdf: float, cdf: float) -> str:
        shares = ["" if math.isnan(share) else f"{share * 100:.2f}%" for share in (pdf, cdf)]
        if self.spaces:
            return f"{number(value):>12} {shares[0]:>10} {shares[1]:>10}"
        return number(value) + "".join(f" {share}" for share in shares if share)

    def _end(self, description: str, unit: str) -> str:
        text = f" # {description}" if self.desc and description else ""
        return text + (f" ({unit})" if self.desc and unit else "")

    def row(
        self,
        name: str,
        value: float,
        description: str = "",
        unit: str = "",
        pdf: float = math.nan,
        cdf: float = math.nan,
    ) -> None:
        padded = f"{name:<40}" if self.spaces else name
        self.lines.append(f"{padded} {self._columns(value, pdf, cdf)}{self._end(description, unit)}")

    def oneline(self, name: str, values: Sequence[float], description: str = "", unit: str = "") -> None:
        total, seen, cells = sum(values), 0.0, ""
        for value in values:
            share = value / total if total else math.nan
            seen += share
            cells += f" |{self._columns(value, share, seen)}"
        padded = f"{name:<40}" if self.spaces else name
        self.lines.append(f"{padded}{cells}{self._end(description, unit)}")

    def vector(
        self,
        name: str,
        subs: Sequence[str],
        values: Sequence[float],
        description: str = "",
        unit: str = "",
        total: bool = True,
    ) -> None:
        whole, seen = sum(values), 0.0
        for sub, value in zip(subs, values, strict=True):
            share = value / whole if whole else math.nan
            seen += share
            self.row(f"{name}::{sub}", value, description, unit, share, seen)
        if total:
            self.row(f"{name}::total", whole, description, unit)

    def distribution(
        self,
        name: str,
        low: int,
        size: int,
        counts: Sequence[int],
        mean: float,
        description: str = "",
        oneline: bool = False,
    ) -> None:
        """A distribution without under- and overflowing samples."""
        total = sum(counts)
        high = low + size * len(counts) - 1
        if oneline:
            for sub, value in (("bucket_size", size), ("min_bucket", low), ("max_bucket", high)):
                self.row(f"{name}::{sub}", value, description)
        self.row(f"{name}::samples", total, description)
        self.row(f"{name}::mean", mean if total else math.nan, description)
        self.row(f"{name}::stdev", math.nan, description)
        zero = 0.0 if total else math.nan
        self.row(f"{name}::underflows", 0, description, pdf=zero, cdf=zero)
        if oneline:
            self.oneline(name, counts, description)
        else:
            seen = 0.0
            for index, count in enumerate(counts):
                first = low + index * size
                last = min(first + size - 1, high)
                share = count / total if total else math.nan
                seen += share
                label = f"{first}-{last}" if first < last else str(first)
                self.row(f"{name}::{label}", count, description, pdf=share, cdf=seen)
        self.row(f"{name}::overflows", 0, description, pdf=zero, cdf=seen if not oneline else zero)
        self.row(f"{name}::min_value", 0, description)
        self.row(f"{name}::max_value", 0, description)
        self.row(f"{name}::total", total, description)

    def block(self) -> str:
        """One dump with all lines so far."""
        return BEGIN + "".join(f"{line}\n" for line in self.lines) + END


def one_after_another(*blocks: bytes) -> bytes:
    """Blocks as one run writes them with a reset after each: each begins where the last ended."""
    end, texts = 0, []
    for block in blocks:
        ticks = re.search(rb"^simTicks +(\d+)", block, re.M)
        assert ticks is not None
        end += int(ticks[1])
        texts.append(re.sub(rb"^finalTick +\d+", b"finalTick %43d" % end, block, flags=re.M))
    return b"".join(texts)
