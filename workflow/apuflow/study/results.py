"""What stands in results/: a workload's table, a sweep's figures, its report. One function per rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.tables import store, tables
from apuflow.campaign.campaign import Campaign
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.scalar import Scalar


def write_table(
    campaign: Campaign, under: str, workload: str, records: Sequence[str], files: tuple[str, str, str]
) -> None:
    """Write a workload's table: a row per point of the sweep, in the sweep's order.

    Args:
        campaign: the project.
        under: the sweep's place below results/, as ``paths.under`` gives it.
        workload: its name.
        records: the run records of the points.
        files: where CSV, Parquet and the description of the columns go.

    Raises:
        ConfigError: the records' points are not the sweep's.
        AnalysisError: a record or its statistics cannot be read; or a point failed, and the sweep does not
            say ``on_failure: record``.
    """
    sweep = campaign.sweep(under)
    axes: dict[tuple[str, str], Mapping[str, Scalar]] = {
        (point.engine, point.id): point.axes for point in campaign.points(sweep.name, workload)
    }
    frame = tables.build(records, axes=axes)
    campaign.check_rows(sweep, workload, zip(frame["engine"], frame["point"], strict=True))
    if sweep.on_failure == "strict":
        tables.require_completed(frame)
    store.write(frame, *files)


def write_figure(campaign: Campaign, under: str, name: str, table_files: Sequence[str], stem: Path) -> None:
    """Write a figure of a sweep as SVG and PNG, and its numbers as CSV.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        name: the figure (``analysis.figures.FIGURES``).
        table_files: the sweep's tables, Parquet; a figure of single kernels reads the runs instead.
        stem: the files' path without its extension.
    """
    from analysis import figures  # matplotlib: a table has no use for it
    from apuflow.study.kernel_rows import kernel_rows

    if figures.FIGURES[name].per_kernel:
        frame = kernel_rows(campaign, campaign.sweep(under))
    else:
        frame = figures.combine([store.read(file, whole=True) for file in table_files])
    plot = figures.make_or_say(name, frame)
    figures.save(plot.figure, plot.data, stem)


def write_report(
    campaign: Campaign, under: str, table_files: Sequence[str], figure_files: Sequence[str], page: Path
) -> None:
    """Write a sweep's report; how far the preview's numbers may be off stands in it if the sweep has some.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        table_files: a table per workload, Parquet, in the sweep's order.
        figure_files: its figures, SVG.
        page: the HTML file.
    """
    from analysis import report
    from apuflow.study.score import measured_error

    sweep = campaign.sweep(under)
    workloads = campaign.workloads(sweep)
    described = report.SweepDescription.of(
        sweep.model_dump(),
        workloads,
        campaign.sources(sweep),
        measured_error() if any(map(is_batch, sweep.engines)) else "",
    )
    frames = {
        paths.table(under, workload): store.read(file, whole=True)
        for workload, file in zip(workloads, table_files, strict=True)
    }
    records = [record for workload in workloads for record in campaign.records(sweep, workload)]
    report.render(described, frames, records, figure_files, page)
