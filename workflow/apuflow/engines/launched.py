"""The gem5 process that runs a dispatch list with the launcher, and what proves that it ended well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apuflow.core.scalar import Scalar
from apuflow.engines.simulated import required_rows
from apuflow.launcher.dispatch_list import DispatchList
from apuflow.run.command import Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import Judge, Process

ERROR = "apuflow-launcher: error:"


def launched(
    contents: DispatchList,
    *,
    options: Mapping[str, Scalar | None],
    launcher: Path,
    list_file: Path,
    links: Mapping[str, Path],
    judge: Judge,
    release_dumps: bool,
    data: Mapping[str, bytes] | None = None,
) -> Process:
    """The process of a dispatch list.

    Args:
        list_file: where the list stands in the process's directory.
        links: code objects and data, by the names that the list gives them.
        release_dumps: the release's own script writes a block of statistics per kernel; else the guest has
            gem5 write one for each dispatch, one before the first and one after the last.
        data: more files to write beside the list.
    """
    count = len(contents.dispatches)
    return Process(
        guest=Guest(
            directory=launcher.absolute().parent,
            program=launcher.name,
            arguments=(str(list_file),),
            end_marker=contents.end_marker,
            error_texts=(ERROR,),
        ),
        options=options,
        expectation=Expectation(
            end_marker=contents.end_marker,
            error_texts=(ERROR,),
            blocks=None if release_dumps else count + 2,
            kernels=count,
            required=required_rows(),
        ),
        files={str(list_file): contents.text()},
        data=data or {},
        links=links,
        judge=judge,
    )
