"""Writes the preview's rows, tables, figures and reports: a function per rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import ConfigError
from apuflow.core.files import wait_for_files
from apuflow.plan.campaign import Campaign, simulated_points
from apuflow.plan.manifest import Manifest
from apuflow.results.suites import suite_items, suite_table
from apuflow_analysis.tables import store, tables


def write_preview(plan: str, counters: str | Path, record: str | Path, processes: int = 1) -> None:
    """Run the timing model over all points of a manifest, and write their counters and their record.

    Args:
        plan: the manifest.
        counters, record: see ``preview_batch.write_batch``.
        processes: that may share the work.

    Raises:
        NotModelled: the model refuses a layer or an option.
    """
    from apuflow.engines.preview_batch import write_batch

    write_batch(Manifest(plan).points(), counters, record, processes)


def write_table(
    plan: str, files: Sequence[str], root: Path = Path(), *, sampled: Sequence[str] = (), late: bool = False
) -> None:
    """Write a workload's table, a row per point in the order of its manifest.

    Args:
        plan: the manifest.
        files: CSV, Parquet and columns.
        sampled: a table of the operations of a sample, whose rows are those simulated and the preview's.
        late: other machines have made records just now, which this one may see a little later.

    Raises:
        ConfigError: the records' points are not the plan's.
        AnalysisError: a record or its statistics cannot be read; or a point failed, and the sweep does not
            have ``on_failure: record``.
    """
    manifest = Manifest(plan, root)
    settings, axes = manifest.settings, manifest.axes()
    for table in sampled:
        simulated = simulated_points(root / table)
        axes = {key: values for key, values in axes.items() if is_batch(key[0]) or key in simulated}
    records = [root / record for record in manifest.records(axes)]
    if late:
        wait_for_files(records)
    frame = tables.build(records, axes=axes)
    check_rows(manifest, axes, zip(frame["engine"], frame["point"], strict=True))
    if settings.on_failure == "strict":
        tables.require_completed(frame)
    store.write(frame, *(root / file for file in files))


def check_rows(
    manifest: Manifest, planned: Collection[tuple[str, str]], rows: Iterable[tuple[str, str]]
) -> None:
    """Refuse a table whose rows are not exactly the planned points.

    Args:
        planned, rows: engine and point of each.

    Raises:
        ConfigError: a record was put into another point's directory, or a preview batch is of another
            state of the sweep.
    """
    recorded = set(rows)
    for engine, point in (*planned, *recorded):
        key = (engine, point)
        if key in planned and key in recorded:
            continue
        problem = "no row of this point" if key in planned else "a point that the sweep does not have"
        batch = paths.preview_dir(manifest.sweep, manifest.workload)
        raise ConfigError(
            f"the records hold {problem}",
            file=batch if is_batch(engine) else paths.run_dir(engine, manifest.workload, point),
            value=point,
            remedy="remove that directory and start the workflow again: it is made again",
        )


def write_suite_table(
    under: str, name: str, operations: str, files: Sequence[str], root: Path = Path()
) -> None:
    """Write a suite's table, a row per iteration.

    Args:
        under: the sweep's place below results/, as ``paths.under`` gives it.
        operations: the table of the sweep's operations, Parquet.
        files: CSV, Parquet and columns.
    """
    campaign = Campaign(root)
    frame = suite_table(campaign, campaign.sweep(under), name, root / operations)
    store.write(frame, *(root / file for file in files))


def write_figure(
    campaign: Campaign, under: str, name: str, table_files: Sequence[str], directory: Path
) -> None:
    """Write a figure of a sweep as SVG and PNG, and its numbers as CSV.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        name: of the figure (``apuflow_analysis.figures.FIGURES``).
        table_files: the sweep's tables, Parquet; a figure of single kernels reads the runs instead.
        directory: where it goes, under its name.
    """
    from apuflow.results.kernel_rows import kernel_rows
    from apuflow_analysis import figures  # matplotlib: a table has no use for it

    sweep, known = campaign.sweep(under), figures.FIGURES[name]
    if known.per_item:
        operations = next(file for file in table_files if Path(file).stem == paths.OPERATIONS)
        rows = suite_items(campaign, sweep, operations)
    elif known.per_kernel:
        rows = kernel_rows(campaign, sweep)
    else:
        rows = figures.combine(
            [store.read(file, whole=True) for file in table_files if Path(file).stem != paths.OPERATIONS]
        )
    wanted = sweep.figures
    choice = figures.Choice.of(wanted.x, wanted.lines, wanted.baseline, sweep.together, wanted.objectives)
    plot = figures.make_or_say(name, figures.choose(rows, choice))
    figures.save(plot.figure, plot.data, directory / name)


def write_report(
    campaign: Campaign,
    under: str,
    table_files: Sequence[str],
    figure_files: Sequence[str],
    page: Path,
    sampled: Sequence[str] = (),
) -> None:
    """Write a sweep's report; with the preview's error if the sweep has rows of it.

    Args:
        campaign: the project.
        under: the sweep's place below results/.
        table_files: a table per workload, Parquet, in the sweep's order.
        figure_files: its figures, SVG.
        page: the HTML file.
        sampled: tables of its sample: operations, totals.
    """
    from apuflow.score.errors import measured_error
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
