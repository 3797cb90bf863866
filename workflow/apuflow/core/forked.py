"""Work that forked processes share. Each has the modules and objects of this one, and sends what it found."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_shared: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def each(act: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """What ``act`` gives for each part, in a process of its own where there are several.

    Args:
        act: its results and errors have to be picklable; itself and the parts need not be.
        parts: of the work.

    Raises:
        Exception: that of the first part whose ``act`` raises one.
    """
    if len(parts) < 2:
        return [act(part) for part in parts]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(len(parts), context, initializer=_keep, initargs=(act, parts)) as pool:
        return list(pool.map(_act, range(len(parts))))


def usable() -> int:
    """Processes that may share work here: as many as this one has processors, or one where forking is unsafe.

    It is where other threads run, whose locks would stay taken in the copies, and on systems whose libraries
    do not allow it.
    """
    if sys.platform != "linux" or _shared is not None or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def _keep(act: Callable[[Any], Any], parts: Sequence[Any]) -> None:
    global _shared
    _shared = act, parts


def _act(number: int) -> Any:
    assert _shared is not None
    act, parts = _shared
    return act(parts[number])
