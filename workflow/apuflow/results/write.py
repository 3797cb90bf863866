"""Writes tables, figures and reports: a function per rule. ``under`` is a sweep's place below results/."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import ConfigError
from apuflow.core.files import wait_for_files
from apuflow.plan.campaign import Campaign, simulated_points
from apuflow.plan.manifest import Manifest
from apuflow.results.suites import suite_items
from apuflow_analysis.tables import store, tables


def write_table(
    plan: str, files: Sequence[str], root: Path = Path(), *, sampled: Sequence[str] = (), late: bool = False
) -> None:
    """Write a workload's table, a row per point in the order of its manifest.

    Args:
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
    """Refuse a table whose rows (engine and point) are not exactly the planned ones.

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


def write_figure(
    campaign: Campaign, under: str, name: str, table_files: Sequence[str], directory: Path
) -> None:
    """Write a figure of a sweep (one of ``apuflow_analysis.figures.FIGURES``): SVG, PNG, its numbers as CSV.

    ``table_files``: the sweep's tables, Parquet; a figure of single kernels reads the runs instead.
    """
    from apuflow.results.kernels import kernel_rows
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
        table_files: a table per workload, Parquet, in the sweep's order.
        figure_files: its figures, SVG.
        sampled: tables of its sample: operations, totals.
    """
    from apuflow.score.errors import measured_error
    from apuflow_analysis import report
    from apuflow_analysis.figures.axis import Choice

    sweep = campaign.sweep(under)
    workloads = campaign.shown(sweep)
    error = measured_error() if any(map(is_batch, sweep.engines)) else ""
    described = report.SweepDescription.of(
        sweep.model_dump(), workloads, campaign.sources(sweep), error, sweep.together
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
    suites = [paths.suite_files(under, suite) for suite in campaign.itemised(sweep)]
    report.render(described, frames, records, figure_files, page, choice, sampled, suites)
