"""The workgroups of a launch's grid."""

from __future__ import annotations

import math
from collections.abc import Sequence


def workgroups(grid: Sequence[int], workgroup: Sequence[int]) -> tuple[int, ...]:
    """Workgroups along each axis, partial ones included.

    Args:
        grid, workgroup: work-items along each axis.
    """
    return tuple([-(-items // size) for items, size in zip(grid, workgroup, strict=True)])


def last_axis(groups: Sequence[int]) -> int:
    """The last axis with several workgroups: gem5 dispatches along x, then y, then z."""
    return max((axis for axis, count in enumerate(groups) if count > 1), default=0)


def layer(groups: Sequence[int]) -> int:
    """Workgroups that have the same place along the last axis, and so are dispatched together."""
    return math.prod(groups[: last_axis(groups)])
