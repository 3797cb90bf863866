"""A preview batch kernel by kernel, as ``kernel_table`` gives a run: the model says it anew."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from apuflow.campaign.campaign import Campaign
from apuflow.configure import option_rules
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import AnalysisError
from apuflow.core.record import BatchRecord
from apuflow_analysis.counters.table import NAMES as COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.columns import axis_column


def preview_kernel_table(directory: Path, record: BatchRecord, root: Path = Path()) -> pd.DataFrame:
    """One row per point and launch of a preview batch.

    Args:
        directory: of the batch, ``runs/preview/WORKLOAD/SWEEP.vVERSION``.
        record: its record.

    Returns:
        Columns ``point``, a column per axis, those of ``apuflow_analysis.tables.kernels.kernel_table``, and
        ``dispatches``, how many launches the row adds up.

    Raises:
        AnalysisError: the batch is of another version of the model or of other points than the sweep has.
        ConfigError: the sweep's file is gone, or has a mistake.
    """
    from apuflow import preview

    sweep, _, version = directory.resolve().name.rpartition(".v")
    points = Campaign(root).points(sweep, record.workload, "preview")
    numbers = pd.read_parquet(directory / "counters.parquet").set_index("point")
    if version != PREVIEW_VERSION or list(numbers.index) != [point.id for point in points]:
        raise AnalysisError(
            "the batch is of another version of the model or of its sweep",
            file=directory,
            remedy=f"make it again: snakemake --cores all results/{sweep}/{record.workload}.csv",
        )
    frame = preview.kernels_frame(points, option_rules.defaults(preview.RELEASE))
    frame = frame.rename(columns={"count": "dispatches", "note": "stand_in"})
    added = [name for name in COUNTERS if name in frame.columns and name not in preview.RATES]
    frame[added] = frame[added].mul(frame["dispatches"], axis=0)
    axes = {
        axis_column(name): [point.axes.get(name) for point in points]
        for name in dict.fromkeys(name for point in points for name in point.axes)
    }
    about = pd.DataFrame(axes, index=numbers.index).join(numbers[_machine(numbers, axes)])
    frame.insert(1, "dispatch", frame.groupby("point", sort=False).cumcount())
    table = frame.merge(about.reset_index(), on="point", how="left")
    table = compute.compute(table.reindex(columns=[*dict.fromkeys([*table.columns, *COUNTERS])]))
    table.attrs["axes"] = tuple(axes)
    return table


def _machine(numbers: pd.DataFrame, axes: Collection[str]) -> list[str]:
    return [name for name in compute.machine_columns() if name in numbers.columns and name not in axes]
