"""What stands in results/: a workload's table, a sweep's figures, its report. One function per rule."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.tables import store, tables
from apuflow.campaign.campaign import Campaign
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.files import wait_for_files
from apuflow.core.scalar import Scalar
from apuflow.study.suites import suite_items, suite_table

if TYPE_CHECKING:
    import pandas as pd


def write_table(
    campaign: Campaign, under: str, workload: str, files: tuple[str, str, str], *, late: bool = False
) -> None:
    """Write a workload's table: a row per point of the sweep, in the sweep's order.

    Args:
        campaign: the project.
        under: the sweep's place below results/, as ``paths.under`` gives it.
        workload: its name.
        files: where CSV, Parquet and the description of the columns go.
        late: other machines have made records just now, which this one may see a little later.

    Raises:
        ConfigError: the records' points are not the sweep's.
        AnalysisError: a record or its statistics cannot be read; or a point failed, and the sweep does not
            say ``on_failure: record``.
    """
    sweep = campaign.sweep(under)
    records = campaign.records(sweep, workload)
    if workload in campaign.suites(sweep):
        store.write(suite_table(campaign, sweep, workload, records[0]), *files)
        return
    axes: dict[tuple[str, str], Mapping[str, Scalar]] = {
        (point.engine, point.id): point.axes for point in campaign.table_points(sweep, workload)
    }
    if late:
        wait_for_files(campaign.root / record for record in records)
    frame = tables.build(records, axes=axes)
    campaign.check_rows(sweep, workload, zip(frame["engine"], frame["point"], strict=True))
    if sweep.on_failure == "strict":
        tables.require_completed(frame)
    store.write(frame, *files)


def write_figures(
    campaign: Campaign,
    under: str,
    names: Sequence[str],
    table_files: Sequence[str],
    directory: Path,
    processes: int = 1,
) -> None:
    """Write figures of a sweep as SVG and PNG, and their numbers as CSV.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        names: the figures (``analysis.figures.FIGURES``).
        table_files: the sweep's tables, Parquet; a figure of single kernels reads the runs instead.
        directory: where they go, each under its name.
        processes: that share the work.
    """
    from analysis import figures  # matplotlib: a table has no use for it
    from apuflow.study.kernel_rows import kernel_rows

    @cache
    def frame(*, per_item: bool, per_kernel: bool) -> pd.DataFrame:
        if per_item:
            operations = next(file for file in table_files if Path(file).stem == paths.OPERATIONS)
            return suite_items(campaign, campaign.sweep(under), operations)
        if per_kernel:
            return kernel_rows(campaign, campaign.sweep(under))
        return figures.combine(
            [store.read(file, whole=True) for file in table_files if Path(file).stem != paths.OPERATIONS]
        )

    shares = min(processes, len(names))
    if shares > 1:  # forked, so that they have all modules from the start
        with ProcessPoolExecutor(shares, multiprocessing.get_context("fork")) as pool:
            parts = [names[start::shares] for start in range(shares)]
            list(pool.map(partial(_write_share, campaign.root, under, table_files, directory), parts))
        return
    sweep = campaign.sweep(under)
    wanted = sweep.figures
    choice = figures.Choice.of(wanted.x, wanted.lines, wanted.baseline, sweep.together, wanted.objectives)
    for name in names:
        known = figures.FIGURES[name]
        rows = frame(per_item=known.per_item, per_kernel=known.per_kernel)
        plot = figures.make_or_say(name, figures.choose(rows, choice))
        figures.save(plot.figure, plot.data, directory / name)


def _write_share(
    root: Path, under: str, table_files: Sequence[str], directory: Path, names: Sequence[str]
) -> None:
    write_figures(Campaign(root), under, names, table_files, directory)


def write_report(
    campaign: Campaign,
    under: str,
    table_files: Sequence[str],
    figure_files: Sequence[str],
    page: Path,
    sampled: Sequence[str] = (),
) -> None:
    """Write a sweep's report; how far the preview's numbers may be off stands in it if the sweep has some.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        table_files: a table per workload, Parquet, in the sweep's order.
        figure_files: its figures, SVG.
        page: the HTML file.
        sampled: tables of its sample: operations, totals.
    """
    from analysis import report
    from analysis.figures.choice import Choice
    from apuflow.study.score import measured_error

    sweep = campaign.sweep(under)
    workloads = campaign.shown(sweep)
    described = report.SweepDescription.of(
        sweep.model_dump(),
        workloads,
        campaign.sources(sweep),
        measured_error() if any(map(is_batch, sweep.engines)) else "",
        sweep.together,
    )
    frames = {
        paths.table(under, workload): store.read(file, whole=True)
        for workload, file in zip(workloads, table_files, strict=True)
    }
    records = [
        record for workload in campaign.workloads(sweep) for record in campaign.records(sweep, workload)
    ]
    wanted = sweep.figures
    choice = Choice.of(wanted.x, wanted.lines, wanted.baseline)
    suites = [paths.suite_files(under, suite) for suite in campaign.itemised(under)]
    report.render(described, frames, records, figure_files, page, choice, sampled, suites)
