"""The preview's rows, and what stands in results/: tables, figures, the report. One function per rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from apuflow.campaign.campaign import Campaign
from apuflow.core import forked, paths
from apuflow.core.engines import is_batch
from apuflow.core.files import wait_for_files
from apuflow.core.scalar import Scalar
from apuflow.study.suites import suite_items, suite_table
from apuflow_analysis.tables import store, tables

if TYPE_CHECKING:
    import pandas as pd


def write_previews(campaign: Campaign, sweep: str, workloads: Sequence[str], processes: int = 1) -> None:
    """Run the timing model over all points of workloads of a sweep, and write their counters and records.

    Args:
        campaign: the project.
        sweep: its name.
        workloads: their names.
        processes: that share the work.

    Raises:
        NotModelled: the model refuses a layer or an option.
    """
    each = max(1, processes // max(1, len(workloads)))  # of the processes, those for the points of a workload
    _shared(processes, partial(_preview, sweep, each), campaign, workloads)


def _preview(sweep: str, processes: int, campaign: Campaign, workloads: Sequence[str]) -> None:
    from apuflow.engines.preview_batch import write_batch

    for workload in workloads:
        counters = campaign.root / paths.preview_counters(sweep, workload)
        record = campaign.root / paths.preview_record(sweep, workload)
        write_batch(campaign.batch(sweep, workload), counters, record, processes)


def write_tables(
    campaign: Campaign, under: str, names: Sequence[str], processes: int = 1, *, late: bool = False
) -> None:
    """Write tables of workloads, a row per point in the sweep's order, and of suites, a row per iteration.

    Args:
        campaign: the project.
        under: the sweep's place below results/, as ``paths.under`` gives it.
        names: of workloads and suites; a suite's table is made from that of the operations.
        processes: that share the work.
        late: other machines have made records just now, which this one may see a little later.

    Raises:
        ConfigError: the records' points are not the sweep's.
        AnalysisError: a record or its statistics cannot be read; or a point failed, and the sweep does not
            say ``on_failure: record``.
    """
    suites = campaign.suites(campaign.sweep(under))
    for are_suites in (False, True):
        chosen = [name for name in names if (name in suites) == are_suites]
        _shared(processes, partial(_tabulate, under, late), campaign, chosen)


def _tabulate(under: str, late: bool, campaign: Campaign, names: Sequence[str]) -> None:
    sweep = campaign.sweep(under)
    suites = campaign.suites(sweep)
    for name in names:
        records = [campaign.root / record for record in campaign.records(sweep, name)]
        files = [campaign.root / file for file in paths.table_files(under, name)]
        if name in suites:
            store.write(suite_table(campaign, sweep, name, records[0]), *files)
            continue
        axes: dict[tuple[str, str], Mapping[str, Scalar]] = {
            (point.engine, point.id): point.axes for point in campaign.table_points(sweep, name)
        }
        if late:
            wait_for_files(records)
        frame = tables.build(records, axes=axes)
        campaign.check_rows(sweep, name, zip(frame["engine"], frame["point"], strict=True))
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
        names: the figures (``apuflow_analysis.figures.FIGURES``).
        table_files: the sweep's tables, Parquet; a figure of single kernels reads the runs instead.
        directory: where they go, each under its name.
        processes: that share the work.
    """
    _shared(processes, partial(_draw, under, table_files, directory), campaign, names)


def _draw(
    under: str, table_files: Sequence[str], directory: Path, campaign: Campaign, names: Sequence[str]
) -> None:
    from apuflow.study.kernel_rows import kernel_rows
    from apuflow_analysis import figures  # matplotlib: a table has no use for it

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

    sweep = campaign.sweep(under)
    wanted = sweep.figures
    choice = figures.Choice.of(wanted.x, wanted.lines, wanted.baseline, sweep.together, wanted.objectives)
    for name in names:
        known = figures.FIGURES[name]
        rows = frame(per_item=known.per_item, per_kernel=known.per_kernel)
        plot = figures.make_or_say(name, figures.choose(rows, choice))
        figures.save(plot.figure, plot.data, directory / name)


def _shared(
    processes: int, act: Callable[[Campaign, Sequence[str]], None], campaign: Campaign, names: Sequence[str]
) -> None:
    """Act on all names, of which each process takes a part, with a campaign of its own."""
    count = min(processes, len(names))
    if count < 2:
        act(campaign, names)
        return
    parts = [names[start::count] for start in range(count)]
    forked.each(lambda part: act(Campaign(campaign.root), part), parts)


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
    from apuflow.study.score import measured_error
    from apuflow_analysis import report
    from apuflow_analysis.figures.choice import Choice

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
