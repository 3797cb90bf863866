"""Scripts of rules in forks of one process: starting Python anew takes longer than making a table.

The process has loaded what the scripts need. It is the standard library's ``forkserver``, which has no
threads: it is safe to fork, and Snakemake's own process is not.
"""

from __future__ import annotations

import multiprocessing
import runpy
import threading
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from apuflow.core.errors import EngineError

_LOADED = (
    "snakemake.cli",
    "apuflow.results.write",
    "apuflow.results.suites",
    "apuflow_analysis.figures",
    "apuflow_analysis.report",
)


class Forks:
    """Runs scripts. The process behind it starts with the first of them.

    Args:
        scripts: their directory.
    """

    def __init__(self, scripts: Path) -> None:
        self._scripts = scripts
        self._context: ForkServerContext | None = None
        self._lock = threading.Lock()

    def run(self, script: str, *, elsewhere: bool = True, **names: Any) -> None:
        """Run a script to its end.

        Args:
            script: its name, without ``.py``.
            elsewhere: in a fork; else in this process.
            names: attributes of the object ``snakemake`` of the script: input, output, log and others.

        Raises:
            EngineError: it failed; its log has the reason.
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
