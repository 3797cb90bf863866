"""Forked processes: they share work and send their results back, or run scripts of rules."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from apuflow.core.errors import EngineError

Part = TypeVar("Part")
Result = TypeVar("Result")
_shares = False
"""Whether this process is such a fork."""


def each(act: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Results of ``act`` for each part: the first in this process, each other one in its own.

    Processes and pipes take half the time of the standard library's pools, which matters for a tenth of a
    second of work. The parts inherit modules and objects; results and errors must be picklable.

    Raises:
        Exception: the first part's exception; RuntimeError if a process ended without an answer.
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
    """Divide rows into parts of equal size, at most one per ``usable`` process, or ``most``.

    Each has at least ``fewest`` rows, unless it is the only one.
    """
    count = max(1, min(usable() if most is None else most, len(rows) // fewest))
    size = max(1, -(-len(rows) // count))
    return [rows[start : start + size] for start in range(0, len(rows), size)] or [rows]


def usable() -> int:
    """Processes that may share work: this one's processors, or one if forking is unsafe.

    It is unsafe beside other threads, whose locks would stay held, and on systems whose libraries forbid it.
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


_LOADED = (
    "snakemake.cli",
    "apuflow.results.write",
    "apuflow.results.suites",
    "apuflow_analysis.figures",
    "apuflow_analysis.report",
)


class Forks:
    """Runs scripts of rules in forks of one process: starting Python anew takes longer than making a table.

    The process starts with the first script, and has loaded what they need. It is the standard library's
    ``forkserver``, which has no threads: it is safe to fork, and Snakemake's own process is not.

    Args:
        scripts: their directory.
    """

    def __init__(self, scripts: Path) -> None:
        self._scripts = scripts
        self._context: ForkServerContext | None = None
        self._lock = threading.Lock()

    def run(self, script: str, *, elsewhere: bool = True, **names: Any) -> None:
        """Run a script to its end; raises EngineError where it fails: its log has the reason.

        Args:
            script: its name, without ``.py``.
            elsewhere: in a fork; else in this process.
            names: attributes of the object ``snakemake`` of the script: input, output, log and others.
        """
        place = str(self._scripts / f"{script}.py")
        if not elsewhere:
            _run(place, names)
            return
        with self._lock:
            if self._context is None:
                self._context = multiprocessing.get_context("forkserver")
                self._context.set_forkserver_preload(list(_LOADED))
            fork = self._context.Process(target=_run, args=(place, names))
            fork.start()
        wait([fork.sentinel])
        # A start also reads the status of forks that have ended. Of two readers at once one would get 255.
        with self._lock:
            fork.join()
        if fork.exitcode:
            raise EngineError(f"{script} failed", file=str(names["log"][0]))


def _run(place: str, names: dict[str, Any]) -> None:
    runpy.run_path(place, init_globals={"snakemake": SimpleNamespace(**names)})
