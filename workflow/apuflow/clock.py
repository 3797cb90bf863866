"""Files from the future, after a clock that jumped back: Snakemake would call every job after them failed."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TOLERANCE_SECONDS = 60.0
"""Clocks of a file server may differ by this much; that is Snakemake's to judge."""

_KEPT = (
    "configs/**/*",
    "build/toolchain/*/*.json",
    "build/inputs/*",
    "build/launcher/*",
    "cachefiles/**/*",
    "runs/gem5*/*/*/run.json",
)
_MADE_AGAIN = ("results/**/*", "runs/preview/*/*/*")


def mend_times(root: Path = Path()) -> int:
    """Give files from the future another time; how many there were.

    What is expensive or the user's own counts as made now. Tables, figures and preview batches count as old,
    so that they are made again: whether they or a later edit came first cannot be told any more.
    """
    now = time.time()
    mended = 0
    for patterns, new in ((_KEPT, now), (_MADE_AGAIN, 1.0)):
        for path in _files(root, patterns):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime > now + TOLERANCE_SECONDS:
                    os.utime(path, (new, new))
                    mended += 1
    if mended:
        print(
            f"apuflow: the clock has gone back: {mended} files from the future got another time",
            file=sys.stderr,
        )
    return mended


def _files(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in root.glob(pattern) if path.is_file())
