"""Wavefronts that stand for all of a large launch, for models that look at every lane."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray


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
