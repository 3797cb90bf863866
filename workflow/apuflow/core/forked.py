"""Work that forked processes share. Each has the modules and objects of this one, and sends what it found."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_shares = False
"""Whether this process is one of them."""


def each(act: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """What ``act`` gives for each part: of the first in this process, of each other one in one of its own.

    Processes and pipes take half the time of the standard library's pools, which matters where the work is a
    tenth of a second.

    Args:
        act: its results and errors have to be picklable; itself and the parts need not be.
        parts: of the work.

    Raises:
        Exception: that of the first part whose ``act`` raises one.
        RuntimeError: a process ended without an answer.
    """
    context = multiprocessing.get_context("fork")
    answers: list[Connection] = []
    processes = []
    try:
        for part in parts[1:]:
            answer, send = context.Pipe(duplex=False)
            answers.append(answer)
            processes.append(context.Process(target=_answer, args=(act, part, send), daemon=True))
            processes[-1].start()
            send.close()
        return [act(part) for part in parts[:1]] + [_received(answer) for answer in answers]
    finally:
        for process in processes:
            process.terminate()
            process.join()


def parts(rows: Sequence[Part], fewest: int, most: int | None = None) -> list[Sequence[Part]]:
    """Rows in parts of equal size, no more than there are ``usable`` processes.

    Args:
        fewest: rows of a part, unless that is the only one.
        most: parts, where it is not all processes that are usable.
    """
    count = max(1, min(usable() if most is None else most, len(rows) // fewest))
    size = max(1, -(-len(rows) // count))
    return [rows[start : start + size] for start in range(0, len(rows), size)] or [rows]


def usable() -> int:
    """Processes that may share work here: as many as this one has processors, or one where forking is unsafe.

    It is where other threads run, whose locks would stay taken in the copies, and on systems whose libraries
    do not allow it.
    """
    if sys.platform != "linux" or _shares or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def _answer(act: Callable[[Any], Any], part: Any, send: Connection) -> None:
    global _shares
    _shares = True
    try:
        found: tuple[Any, Exception | None] = act(part), None
    except Exception as error:
        found = None, error
    send.send(found)


def _received(answer: Connection) -> Any:
    try:
        found, error = answer.recv()
    except EOFError:
        raise RuntimeError("a process that shared the work ended without an answer") from None
    if error is not None:
        raise error
    return found
