"""The preview's error against runs of real gem5.

What is known about the preview's error: sentences from the real gem5 runs that come with apuflow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.engines import is_batch
from apuflow.core.errors import ApuflowError, ConfigError, NotModelled
from apuflow.preview.kernels.registry import profile
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import Profile
from apuflow.preview.timing import times
from apuflow.study.score_runs import KEYS, is_result_table, record_rows, row_facts, row_machine, text

REQUIRED = ("kernel", "n", "c", "h", "w", "grid_x", "workgroup_x", "num_compute_units", "gpu_cycles")
SHAPE = (
    "primitive", "kernel", "n", "c", "h", "w", "kernel_size", "pad", "stride", "num_output", "direction",
    "launch", "config",
)  # fmt: skip
"""Columns that tell one kernel from another, apart from the machine."""


def recorded() -> tuple[Path, Path]:
    """The tables of runs of gem5 v23.0.1.0 that come with apuflow: 137 runs, and 471 of all primitives.

    Columns and how they were recorded: ``data/gem5_runs/README.md``.
    """
    directory = Path(str(resources.files("apuflow"))) / "data/gem5_runs"
    return directory / "runs.csv", directory / "campaign.csv"


def held_out(run: str) -> bool:
    """Whether a recorded run was left aside when constants and forms were chosen: a third, by their ids."""
    return int(hashlib.sha256(run.encode()).hexdigest(), 16) % 3 == 0


@dataclass(frozen=True)
class Scored:
    """Runs with the preview's cycles beside gem5's.

    Attributes:
        frame: the scored rows, with ``predicted`` (GPU cycles), ``error`` (predicted / measured - 1),
        ``bound``. refused: reasons with the primitives and the number of rows that they concern.
    """

    frame: pd.DataFrame
    refused: Mapping[str, int]


def _read(file: Path) -> pd.DataFrame:
    if file.suffix == ".parquet":
        return pd.read_parquet(file, page_checksum_verification=True)
    return pd.read_csv(file, dtype=str)


def read_runs(path: str | Path) -> pd.DataFrame:
    """A table of runs, CSV or Parquet, without rows of the preview or without completed cycles.

    It has one row per kernel, or is a result table of engines with its runs beside it (``score_runs``).

    Raises:
        ConfigError: the file is missing, is no table, or lacks a column.
    """
    file = Path(path)
    try:
        frame = _read(file)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise ConfigError(
            "cannot read the table of runs",
            file=file,
            value=str(error).splitlines()[0],
            remedy=f"give a CSV file like {recorded()[0]}",
        ) from error
    if is_result_table(frame):
        return record_rows(file, frame)
    missing = [column for column in REQUIRED if column not in frame.columns]
    if missing:
        raise ConfigError(
            "the table of runs lacks columns",
            file=file,
            key=", ".join(missing),
            remedy=f"it needs {', '.join(REQUIRED)}",
        )
    if "engine" in frame.columns:
        frame = frame[~frame["engine"].map(is_batch)]
    cycles = pd.to_numeric(frame["gpu_cycles"], errors="coerce")
    return frame[cycles > 0].reset_index(drop=True)


def read_tables(files: Sequence[str | Path]) -> pd.DataFrame:
    """Several tables of runs as one (``read_runs``).

    Raises:
        ConfigError: as ``read_runs``.
    """
    return pd.concat([read_runs(file) for file in files], ignore_index=True)


def score(frame: pd.DataFrame) -> Scored:
    """Predict every run; runs that the preview refuses are listed, not scored."""
    profiles: list[Profile] = []
    machines: list[GpuModel] = []
    kept: list[int] = []
    refused: dict[str, int] = {}
    for number, row in enumerate(frame.to_dict("records")):
        cells: dict[str, Any] = {str(key): value for key, value in row.items()}
        try:
            if text(cells, "refusal"):
                raise NotModelled(text(cells, "refusal"))
            launch_profile, box = profile(row_facts(cells)), row_machine(cells)
        except NotModelled as error:
            name = f"{text(cells, 'primitive') or text(cells, 'kernel')}: {error.message}"
            refused[name] = refused.get(name, 0) + 1
            continue
        except ApuflowError as error:
            raise ConfigError(
                f"run {number + 1}: {error.message}", key=error.key, value=text(cells, "id")
            ) from error
        profiles.append(launch_profile)
        machines.append(box)
        kept.append(number)
    out = frame.iloc[kept].reset_index(drop=True).copy()
    measured = pd.to_numeric(out["gpu_cycles"]).to_numpy(dtype=float)
    result = times(profiles, machines)
    period = np.array([machine.gpu_ns for machine in machines])
    out["predicted"] = result.ns / period if kept else np.zeros(0)
    out["error"] = out["predicted"] / measured - 1.0
    out["bound"] = result.bound
    if "primitive" not in out.columns:
        out["primitive"] = out["kernel"]
    return Scored(out, refused)


SAME = 0.05
"""Times this close (relative) share a rank: on a plateau, gem5 scatters by a few percent either way."""


def plateau_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from the fastest on; times within ``SAME`` of the fastest of a plateau share their mean rank."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] <= values[order[start]] * (1.0 + SAME):
            end += 1
        for k in range(start, end):
            ranks[order[k]] = (start + end - 1) / 2.0
        start = end
    return ranks


def sweeps(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """CU sweeps: rows that are equal but for the number of compute units, three numbers or more."""
    keys = [column for column in frame.columns if column in SHAPE or column in KEYS]
    keys.remove("num_compute_units")
    for _, group in frame.fillna("").astype(str).groupby(keys, sort=False):
        rows = frame.loc[group.index]
        if rows["num_compute_units"].astype(float).nunique() >= 3:
            yield rows


def rank_correlation(frame: pd.DataFrame) -> float | None:
    """Mean Spearman correlation along CU sweeps (``sweeps``), weighted by their rows.

    Times within 5 % share a rank (``plateau_ranks``); a sweep without any order counts 1 if both sides
    agree, else 0.
    """
    total = weight = 0.0
    for rows in sweeps(frame):
        measured = plateau_ranks(pd.to_numeric(rows["gpu_cycles"]).tolist())
        predicted = plateau_ranks(rows["predicted"].tolist())
        flat = [len(set(ranks)) == 1 for ranks in (measured, predicted)]
        value = float(all(flat)) if any(flat) else float(np.corrcoef(measured, predicted)[0, 1])
        total += value * len(rows)
        weight += len(rows)
    return total / weight if weight else None


APART = 0.10
"""Cycles this far apart (relative to the fewer) are told apart by gem5: twice its usual scatter."""


def ordered_pairs(frame: pd.DataFrame) -> tuple[int, int]:
    """Pairs of runs that the preview puts in the measured order, and all pairs.

    A pair: two runs of the same CU sweep (``sweeps``) with different numbers of compute units, whose measured
    cycles differ by more than 10 %. Equal predictions are not in order.
    """
    right = pairs = 0
    for rows in sweeps(frame):
        units = rows["num_compute_units"].astype(float)
        measured = pd.to_numeric(rows["gpu_cycles"])
        points = zip(units, measured, rows["predicted"], strict=True)
        for (units_a, a, model_a), (units_b, b, model_b) in combinations(points, 2):
            if units_a == units_b or max(a, b) <= min(a, b) * (1.0 + APART):
                continue
            pairs += 1
            right += (a - b) * (model_a - model_b) > 0
    return right, pairs


def summary(frame: pd.DataFrame) -> dict[str, Any]:
    """What scored rows show in numbers.

    Returns:
        ``median_error``, ``p90_error`` (absolute, relative), ``rank_correlation``, the number of
        ``ordered_pairs`` and the ``ordered_share`` of them in the measured order, ``runs``.
    """
    right, pairs = ordered_pairs(frame)
    error = frame["error"].abs()
    return {
        "median_error": None if frame.empty else float(error.median()),
        "p90_error": None if frame.empty else float(error.quantile(0.9)),
        "rank_correlation": rank_correlation(frame),
        "ordered_share": right / pairs if pairs else None,
        "ordered_pairs": pairs,
        "runs": len(frame),
    }


def report(scored: Scored) -> dict[str, Any]:
    """The summary of all runs, with one per primitive under ``primitives``."""
    groups: Sequence[tuple[Any, pd.DataFrame]] = (
        list(scored.frame.groupby("primitive")) if len(scored.frame) else []
    )
    return {**summary(scored.frame), "primitives": {str(name): summary(rows) for name, rows in groups}}


def measured_error() -> str:
    """The preview's error against the recorded gem5 runs, in all and per primitive.

    The preview is scored anew each time, so that the sentences are true of the model as it is.
    """
    scored = score(read_tables(recorded()))
    errors = report(scored)
    rank = (
        "" if errors["rank_correlation"] is None else f", rank correlation {errors['rank_correlation']:.2f}"
    )
    refused = sum(scored.refused.values())
    return (
        f"Measured against {errors['runs']} runs of real gem5 (MIOpen's kernels, 1 to 64 compute units): "
        f"the error of the GPU cycles is {100 * errors['median_error']:.1f} % in the median and "
        f"{100 * errors['p90_error']:.1f} % at the 90th percentile{rank}"
        + (f"; {refused} further runs it does not model" if refused else "")
        + ". Per primitive, median/90th percentile in %: "
        + ", ".join(
            f"{name} {100 * part['median_error']:.0f}/{100 * part['p90_error']:.0f}"
            for name, part in errors["primitives"].items()
        )
        + ". `apuflow score` repeats the measurement."
    )
