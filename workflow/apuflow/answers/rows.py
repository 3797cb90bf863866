"""Hashes over the rows of gem5's statistics: equal if two runs counted the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from apuflow.gem5.stats.blocks import open_packed
from apuflow.gem5.stats.checks import ACTIVE

_HOST: Final = re.compile(rb"host[A-Z_]")
"""Rows about the machine that runs gem5, not the simulated one: hostSeconds, hostMemory, hostTickRate
(src/sim/root.cc), hostInstRate, hostOpRate (src/cpu/base.cc)."""
_MARK: Final = b"----------"
"""Begins the lines around a block."""
_PARTS: Final = (
    ("translation", re.compile(rb"system\.\w*(?:tlb|coalescer)\w*\.")),
    ("cpu", re.compile(rb"system\.cpu\d*[._]")),
    ("network", re.compile(rb"system\.ruby\.network\.")),
    ("caches", re.compile(rb"system\.ruby\.")),
    ("memory", re.compile(rb"system\.\w*mem_ctrls")),
)


def row_hashes(files: Iterable[Path]) -> dict[str, str]:
    """Hash the rows of each part of the machine, all blocks and files in order.

    Rows of the host and descriptions, which differ between releases, are left out.

    Returns:
        By part (gpu, translation, cpu, network, caches, memory, other): number of rows and 16 hexadecimal
        digits.
    """
    hashes = {name: hashlib.sha256() for name in ("gpu", *(name for name, _ in _PARTS), "other")}
    counts = dict.fromkeys(hashes, 0)
    for file in files:
        with open_packed(file) as stream:
            lines = stream.read().splitlines()
        gpu = next((line.split(None, 1)[0] for line in lines if ACTIVE.encode() in line[:80]), b"\0")
        gpu = gpu.removesuffix(ACTIVE.encode()) + b"."
        for line in lines:
            row = b" ".join(line.partition(b" # ")[0].split())
            if not row or row.startswith(_MARK) or _HOST.match(row):
                continue
            part = "gpu" if row.startswith(gpu) else _part(row)
            hashes[part].update(row + b"\n")
            counts[part] += 1
    return {name: f"{counts[name]}:{each.hexdigest()[:16]}" for name, each in hashes.items()}


def _part(row: bytes) -> str:
    return next((name for name, pattern in _PARTS if pattern.match(row)), "other")
