"""What the CPU's L2 and the L3 hold of the inputs that it has written before the first launch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from apuflow.miopen.launch import Launch, first_uses

COMPUTED = ("mask", "index")
"""Inputs whose values the CPU computes. It copies all others, each from the begin of one file."""


class Copy(NamedTuple):
    """An input: its bytes, and those that the CPU reads to write them."""

    size: float
    read: float


def parts_held(
    launches: Iterable[Launch], l2_bytes: float, l3_bytes: float
) -> dict[str, tuple[float, float]]:
    """Of each input of a process the parts that the CPU's L2 and the L3 hold when it begins, by buffer."""
    copies = {}
    for name, (size, _, arg) in first_uses(launches).items():
        if arg.role != "out":
            written = float(max(1, size))
            copies[name] = Copy(written, 0.0 if arg.name in COMPUTED else written)
    sizes = list(copies.values())
    everything = _together(sizes)
    if everything.size + everything.read <= l2_bytes:
        return dict.fromkeys(copies, (1.0, 0.0))
    in_l2, in_both = kept_of_copies(sizes, l2_bytes), kept_of_copies(sizes, l2_bytes + l3_bytes)
    return {
        name: (first, max(0.0, both - first))
        for name, first, both in zip(copies, in_l2, in_both, strict=True)
    }


def _together(copies: Sequence[Copy]) -> Copy:
    """All copies as one; they are read from the begin of the same source."""
    return Copy(sum([copy.size for copy in copies]), max([copy.read for copy in copies], default=0.0))


def kept_of_copies(copies: Sequence[Copy], capacity: float) -> list[float]:
    """Parts that a cache keeps of copies that the CPU makes in turn, each from the begin of the same source.

    It keeps what was touched last, copies as well as the source, which each of them touches again. The last
    copy is the newest by far; the replacement by tree-PLRU does not tell the two oldest ones apart. So gem5
    finds in the L3, of a copy whose two successors nobody loads, 20, 46, 57 and 81 % where all are of 563,
    666, 720 and 867 kB (L2 of 2 MB), and 78, 62, 19 and 0 % where they are of 5.2, 6.0, 7.8 and 10.6 MB and
    fall out of the L3 (16 MB).

    Args:
        copies: in order.
        capacity: of the cache, in bytes.
    """
    oldest = 2 if len(copies) > 2 else 1
    first, later = copies[:oldest], copies[oldest:]
    parts: list[float] = []
    source = 0.0
    for size, read in [*reversed(later), _together(first)]:
        need = size + max(0.0, read - source)
        part = min(1.0, capacity / need) if need else 0.0
        capacity -= part * need
        source = max(source, read)
        parts.append(part)
    return [parts.pop()] * len(first) + parts[::-1]
