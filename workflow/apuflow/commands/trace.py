"""``apuflow trace`` writes a run, or what the preview says of points, over time."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.commands import RESULTS, app
from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    from apuflow.core.record import BatchRecord
    from apuflow.results.trace_events import Trace

MOST = 50
"""Points of a preview batch in one trace."""


@app.command(rich_help_panel=RESULTS)
def trace(
    run: Annotated[Path, typer.Argument(help="A directory below runs/.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
    workgroups: Annotated[
        Path | None,
        typer.Option(help="gem5's trace with the debug flag GPUWgLatency: workgroups of each compute unit."),
    ] = None,
    point: Annotated[
        str, typer.Option(help="Of a preview batch: the points of this name or pattern with *.")
    ] = "*",
) -> None:
    """Write a run over time for ui.perfetto.dev or chrome://tracing.

    Of gem5: kernels, workgroups, stalls, use of DRAM and TCC in each dump of statistics. Of the preview: its
    launches and the terms of the model.
    """
    from apuflow.core.files import write_text
    from apuflow.core.record import BatchRecord, read
    from apuflow.results.run_trace import run_trace

    record = read(run / "run.json")
    if isinstance(record, BatchRecord):
        if workgroups is not None:
            remedy = "leave it out, or give a run of gem5"
            raise ApuflowError("the preview has no workgroups", key="--workgroups", remedy=remedy)
        made = _of_preview(run, record, point)
    elif point != "*":
        raise ApuflowError("a run of gem5 is one point", key="--point", value=point, remedy="leave it out")
    else:
        made = run_trace(run, record, workgroups)
    about = {"engine": record.engine, "workload": record.workload, "run": run.name}
    write_text(output, made.json(about))
    spans = sum(event["ph"] == "X" for event in made.events)
    typer.echo(f"{spans:,} spans: open {output} at ui.perfetto.dev")


def _of_preview(run: Path, record: BatchRecord, pattern: str) -> Trace:
    from apuflow.results.kernels import points_of_batch
    from apuflow.results.preview_trace import preview_trace

    points = points_of_batch(run, record)
    chosen = [one for one in points if fnmatchcase(one.id, pattern)]
    if not chosen:
        remedy = f"one of {', '.join(one.id for one in points[:5])}{' ...' if len(points) > 5 else ''}"
        raise ApuflowError("no point has this name", key="--point", value=pattern, remedy=remedy)
    if len(chosen) > MOST:
        message, remedy = f"{len(chosen)} points are too many for one trace", f"choose at most {MOST}: 'u4*'"
        raise ApuflowError(message, key="--point", value=pattern, remedy=remedy)
    return preview_trace(chosen)
