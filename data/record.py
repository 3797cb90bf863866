"""Add finished runs to recorded ones: ``python data/record.py TABLE SWEEP...`` in the project that ran them.

TABLE is a file as ``gem5_runs/networks.csv``: a row per kernel launch of every completed run of gem5-kernels
in ``results/SWEEP``. Rows that are there already stay as they are. A new table has ``barrier_slots`` of its
gem5 release and ``gfx_version``, too. README.md and ``SHA256SUMS`` are for you.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from apuflow.core import paths
from apuflow.core.record import read_run
from apuflow.study.score_runs import is_result_table, project_of, record_rows
from apuflow_analysis.tables.kernels import UNNAMED, kernel_table

HERE = Path(__file__).resolve().parent
LAUNCH = ["kernel", "grid", "workgroup"]
ENGINE = "gem5-kernels"


def columns() -> list[str]:
    """Of a new table, in its order."""
    return [*pd.read_csv(HERE / "gem5_runs/networks.csv", nrows=0).columns, "barrier_slots", "gfx_version"]


def rows(table: Path, sweep: str) -> pd.DataFrame:
    """The kernels of a result table's runs, with their counters; none where its rows are no runs."""
    frame = pd.read_csv(table)
    if not is_result_table(frame):
        return pd.DataFrame(columns=columns())
    frame = frame[frame["engine"] == ENGINE]
    runs = [paths.run_dir(ENGINE, *who) for who in zip(frame["workload"], frame["point"], strict=True)]
    ran = [project_of(table, run) is not None for run in runs]
    if not any(ran):
        return pd.DataFrame(columns=columns())
    found = record_rows(table, frame[ran])
    if "refusal" in found:
        found = found[found["refusal"].isna()]
    return pd.concat(
        [_counted(kernels.assign(sweep=sweep)) for _, kernels in found.groupby("point", sort=False)]
    ).reindex(columns=columns())


def _counted(kernels: pd.DataFrame) -> pd.DataFrame:
    """The kernels of one run; launches of a loop have the mean of its passes."""
    first = kernels.iloc[0]
    directory = Path(paths.run_dir(ENGINE, first["primitive"], first["point"]))
    dispatches = kernel_table(directory)
    dispatches = dispatches[dispatches["kernel"] != UNNAMED]
    counters = [
        name for name in columns() if name in dispatches and name not in kernels and name not in LAUNCH
    ]
    means = dispatches.groupby(LAUNCH)[counters].mean().round().astype("int64")
    grids = {
        name: kernels[[f"{name}_{axis}" for axis in "xyz"]].astype(str).agg("x".join, axis=1)
        for name in LAUNCH[1:]
    }
    whole = kernels.assign(**grids).merge(means.reset_index(), on=LAUNCH, how="left", validate="many_to_one")
    return whole.assign(
        gpu_cycles=whole["gpu_cycles"].round().astype("int64"),
        host_seconds=round(read_run(directory / "run.json").wall_seconds, 2),
    )


def main() -> None:
    """Read the command line, write the table."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    place = Path(sys.argv[1])
    old = pd.read_csv(place, dtype=str) if place.exists() else pd.DataFrame(columns=columns())
    frames = [old]
    for sweep in sys.argv[2:]:
        for table in sorted(Path(paths.RESULTS, sweep).glob("*.csv")):
            frames.append(rows(table, sweep))
    whole = pd.concat(frames).drop_duplicates("id", keep="first").reindex(columns=old.columns)
    whole.to_csv(place, index=False, lineterminator="\n")
    print(f"{place}: {len(whole) - len(old)} kernels more, {len(whole)} in all")


if __name__ == "__main__":
    main()
