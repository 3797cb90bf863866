"""Wavefronts that stand for all of a large launch, for models that look at every lane."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.instructions import LDS_LANES


def sampled_waves(count: int, most: int) -> NDArray[np.int64]:
    """Numbers of the wavefronts to look at: all ``count`` of them, or ``most`` that lie evenly among them.

    They follow each other in golden steps, so that they keep time with no row of an image.
    """
    if count <= most:
        return np.arange(count, dtype=np.int64)
    step = int(count * 0.618)
    while gcd(step, count) > 1:
        step += 1
    return np.sort(np.arange(most, dtype=np.int64) * step % count)


def touched_lines(index: NDArray[np.int64], inside: NDArray[np.bool_]) -> float:
    """(Wavefront instruction, line) pairs of 64 bytes under elements of 4 bytes, along the last axis.

    Args:
        index: of the element that each lane accesses.
        inside: lanes that run.
    """
    line = np.where(inside, index // 16, -1)
    line.sort(axis=-1)
    first = np.diff(line, axis=-1, prepend=-2) != 0
    return float((first & (line >= 0)).sum())


def serialised(addresses: NDArray[np.int64]) -> float:
    """Accesses one after the other of an LDS instruction: gem5 takes a byte's address modulo the banks."""
    halves = (addresses[first : first + LDS_LANES] for first in range(0, len(addresses), LDS_LANES))
    return float(sum(int(np.bincount(np.unique(half) % LDS_LANES).max()) for half in halves))
