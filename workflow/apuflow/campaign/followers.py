"""Snakemake's decision which jobs have to run, where it would forget those that follow a running job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ANCIENT = "ancient"


def keep(dag: Any) -> None:
    """Let a job without output run, though a running one has already written the ancient input it waits for.

    After a checkpoint Snakemake decides anew which jobs run. Whether a job that follows a running one runs,
    it asks that running job alone; if it then finds that all files between the two are ancient and there, it
    forgets the follower and all that need it, and the workflow ends well without its results (snakemake
    9.27, ``DAG.update_needrun``). A running job's files are there from when it writes them until its process
    has ended.

    Args:
        dag: Snakemake's jobs; its method ``update_needrun`` is replaced.
    """
    decide = dag.update_needrun

    async def decide_and_keep(*arguments: Any, **named: Any) -> None:
        with _none_ancient(_awaited(dag)):
            await decide(*arguments, **named)

    dag.update_needrun = decide_and_keep


def _awaited(dag: Any) -> Iterator[Any]:
    """Files that running jobs make for jobs whose output is not there; a group's jobs are none of ours."""
    for running in list(dag._running):
        for follower, files in dag.depending.get(running, {}).items():
            if not all(map(_is_there, follower.output)):
                yield from files


def _is_there(file: Any) -> bool:
    return file.storage_object.exists() if file.is_storage else Path(file).exists()


@contextlib.contextmanager
def _none_ancient(files: Iterator[Any]) -> Iterator[None]:
    taken = [file.flags for file in files if file.flags.pop(_ANCIENT, False)]
    try:
        yield
    finally:
        for flags in taken:
            flags[_ANCIENT] = True
