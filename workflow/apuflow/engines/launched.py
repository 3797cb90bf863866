"""The gem5 process that runs a dispatch list with the launcher, and what proves that it ended well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apuflow.configure.release import Release
from apuflow.core.scalar import Scalar
from apuflow.engines.simulated import required_rows
from apuflow.launcher.dispatch_list import DispatchList, Statistics
from apuflow.run.command import Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import Judge, Process

ERROR = "apuflow-launcher: error:"


def statistics_of(release: Release) -> Statistics:
    """What the guest does with gem5's statistics: what the release's own script leaves to it."""
    return "reset" if release.capabilities.per_kernel_statistics else "dispatch"


def launched(
    contents: DispatchList,
    *,
    options: Mapping[str, Scalar | None],
    launcher: Path,
    list_file: Path,
    links: Mapping[str, Path],
    judge: Judge,
    data: Mapping[str, bytes] | None = None,
    trace_workgroups: bool = False,
) -> Process:
    """The process of a dispatch list.

    Args:
        list_file: where the list stands in the process's directory.
        links: code objects and data, by the names that the list gives them.
        data: more files to write beside the list.
        trace_workgroups: have gem5 trace every workgroup.
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
            blocks=count + 2 if contents.statistics == "dispatch" else None,
            kernels=count,
            required=required_rows(),
        ),
        files={str(list_file): contents.text()},
        data=data or {},
        links=links,
        judge=judge,
        trace_workgroups=trace_workgroups,
    )
