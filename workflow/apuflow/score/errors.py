"""The preview's error against runs of real gem5.

What is known about the preview's error: sentences from the real gem5 runs that come with apuflow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core import project
from apuflow.core.engines import is_batch
from apuflow.core.errors import ApuflowError, ConfigError, NotModelled
from apuflow.preview.coverage import measured
from apuflow.preview.machine import GpuModel
from apuflow.preview.step import Step
from apuflow.preview.timing import times
from apuflow.score.runs import KEYS, is_result_table, record_rows, row_machine, row_steps, text
from apuflow_analysis.tables import compare

Array = NDArray[np.float64]

REQUIRED = ("kernel", "grid_x", "workgroup_x", "num_compute_units", "gpu_cycles")
"""Columns of every table of runs. It says the layer in ``n``, ``c``, ``h`` and ``w``, or in ``config``."""
SHAPE = (
    "primitive", "kernel", "n", "c", "h", "w", "kernel_size", "pad", "stride", "num_output", "direction",
    "launch", "config",
)  # fmt: skip
"""Columns that tell one kernel from another, apart from the machine."""


def recorded() -> tuple[Path, Path]:
    """The tables of runs of gem5 v23.0.1.0 that come with apuflow: 137 runs, and 471 of all primitives.

    Columns and how they were recorded: ``data/README.md``.
    """
    directory = project.recorded_runs()
    return directory / "runs.csv", directory / "campaign.csv"


def random_layers() -> Path:
    """The table of random layers on random machines; column ``draw`` numbers the samples."""
    return project.recorded_runs() / "layers.csv.xz"


def held_out(run: str) -> bool:
    """Whether a recorded run was left aside when constants and forms were chosen: a third, by their ids."""
    return int(hashlib.sha256(run.encode()).hexdigest(), 16) % 3 == 0


def held_out_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs that are left aside, by the hash of ``id``; all kernels of a point together, by ``point``."""
    names = frame["id"] if "id" in frame.columns else pd.Series("", index=frame.index)
    if "point" in frame.columns:
        names = frame["point"].where(frame["point"].notna(), names)
    return frame[[held_out(str(name)) for name in names]].reset_index(drop=True)


@dataclass(frozen=True)
class Scored:
    """Runs with the preview's cycles beside gem5's.

    Attributes:
        frame: the scored rows, with ``predicted`` (GPU cycles), ``error`` (predicted / measured - 1),
        ``passes`` (how often the kernel ran), ``bound``.
        refused: reasons with the primitives and the number of rows that they concern.
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
    required = [*REQUIRED, *(() if "config" in frame.columns else "nchw")]
    missing = [column for column in required if column not in frame.columns]
    if missing:
        raise ConfigError(
            "the table of runs lacks columns",
            file=file,
            key=", ".join(missing),
            remedy=f"it needs {', '.join(required)}",
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


@dataclass(frozen=True)
class Modelled:
    """Runs as the timing model takes them.

    Attributes:
        frame: the rows that it models.
        steps: of each row, what it launches and how often (``preview.process.steps``); machines: where.
        refused: reasons with the primitives and the number of rows that they concern.
    """

    frame: pd.DataFrame
    steps: list[list[Step]]
    machines: list[GpuModel]
    refused: Mapping[str, int]

    def part(self, chosen: NDArray[np.bool_]) -> Modelled:
        """The rows that are chosen."""
        at = np.flatnonzero(chosen)
        return Modelled(
            self.frame.iloc[at].reset_index(drop=True),
            [self.steps[k] for k in at],
            [self.machines[k] for k in at],
            self.refused,
        )

    def predicted(self) -> tuple[Array, list[str]]:
        """GPU cycles of each row's kernel, the mean of all its passes, and what bounds most of them."""
        machines = self.machines
        row = np.repeat(np.arange(len(machines)), [len(steps) for steps in self.steps])
        every = [step for steps in self.steps for step in steps]
        often = np.array([float(step.times) for step in every])
        result = times(every, [machines[k] for k in row])
        total = np.bincount(row, weights=result.ns * often, minlength=len(machines))
        period = np.array([machine.gpu_ns for machine in machines])
        bound = dict(zip(row.tolist(), result.bound, strict=True))  # the last step is most passes
        passes = np.bincount(row, weights=often, minlength=len(machines))
        return total / passes / period, [bound[k] for k in range(len(machines))]

    def scored(self) -> pd.DataFrame:
        """The rows with ``predicted`` and ``bound``, ``passes`` of the kernel, and the relative ``error``."""
        out = self.frame.copy()
        out["predicted"], out["bound"] = self.predicted()
        out["passes"] = [sum(step.times for step in steps) for steps in self.steps]
        out["error"] = out["predicted"] / pd.to_numeric(out["gpu_cycles"]).to_numpy(dtype=float) - 1.0
        if "primitive" not in out.columns:
            out["primitive"] = out["kernel"]
        return out


def modelled(frame: pd.DataFrame) -> Modelled:
    """What every run launches, and on which machine; runs that the preview refuses are listed."""
    found: list[list[Step]] = []
    machines: list[GpuModel] = []
    kept: list[int] = []
    refused: dict[str, int] = {}
    for number, row in enumerate(frame.to_dict("records")):
        cells: dict[str, Any] = {str(key): value for key, value in row.items()}
        try:
            if text(cells, "refusal"):
                raise NotModelled(text(cells, "refusal"))
            box = row_machine(cells)
            launched = row_steps(cells, box)
        except NotModelled as error:
            name = f"{text(cells, 'primitive') or text(cells, 'kernel')}: {error.message}"
            refused[name] = refused.get(name, 0) + 1
            continue
        except ApuflowError as error:
            raise ConfigError(
                f"run {number + 1}: {error.message}", key=error.key, value=text(cells, "id")
            ) from error
        found.append(launched)
        machines.append(box)
        kept.append(number)
    return Modelled(frame.iloc[kept].reset_index(drop=True), found, machines, refused)


def score(frame: pd.DataFrame) -> Scored:
    """Predict every run; runs that the preview refuses are listed, not scored."""
    known = modelled(frame)
    return Scored(known.scored(), known.refused)


def sweeps(frame: pd.DataFrame) -> Iterator[list[int]]:
    """CU sweeps: the numbers of rows that are equal but for the compute units, three of these or more."""
    keys = [column for column in frame.columns if column in SHAPE or column in KEYS]
    keys.remove("num_compute_units")
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, cells in enumerate(frame[keys].fillna("").astype(str).to_numpy().tolist()):
        alike.setdefault(tuple(cells), []).append(number)
    units = frame["num_compute_units"].astype(float).tolist()
    for rows in alike.values():
        if len({units[row] for row in rows}) >= 3:
            yield rows


def ordered_pairs(frame: pd.DataFrame) -> tuple[int, int]:
    """Pairs of runs that the preview puts in the measured order, and all pairs.

    A pair: two runs of the same CU sweep (``sweeps``) with different numbers of compute units, whose measured
    cycles differ by more than 10 %. Equal predictions are not in order.
    """
    counts = [(0, 0)]
    units = frame["num_compute_units"].astype(float).tolist()
    runs = list(zip(pd.to_numeric(frame["gpu_cycles"]).tolist(), frame["predicted"].tolist(), strict=True))
    for rows in sweeps(frame):
        for a, b in combinations(rows, 2):
            if units[a] != units[b]:
                counts.append(compare.ordered_pairs([runs[a], runs[b]]))
    return sum(right for right, _ in counts), sum(pairs for _, pairs in counts)


def summary(frame: pd.DataFrame) -> dict[str, Any]:
    """What scored rows show in numbers.

    Returns:
        ``median_error``, ``mean_error``, ``p90_error``, ``max_error`` (absolute, relative), the number of
        ``ordered_pairs`` and the ``ordered_share`` of them in the measured order, ``runs``.
    """
    right, pairs = ordered_pairs(frame)
    return {
        **_errors(frame["error"]),
        "ordered_share": right / pairs if pairs else None,
        "ordered_pairs": pairs,
    }


def _errors(error: pd.Series) -> dict[str, Any]:
    off, none = error.abs(), error.empty
    return {
        "median_error": None if none else float(off.median()),
        "mean_error": None if none else float(off.mean()),
        "p90_error": None if none else float(off.quantile(0.9)),
        "max_error": None if none else float(off.max()),
        "runs": len(off),
    }


def point_errors(frame: pd.DataFrame) -> pd.Series:
    """Of scored rows the error of each ``point``: of the cycles of all its kernels together."""
    passes = frame["passes"]
    cycles = pd.DataFrame(
        {
            "point": frame["point"],
            "predicted": frame["predicted"] * passes,
            "measured": pd.to_numeric(frame["gpu_cycles"]) * passes,
        }
    )
    sums = cycles.groupby("point").sum()
    return sums["predicted"] / sums["measured"] - 1.0


def report(scored: Scored) -> dict[str, Any]:
    """The summary of all runs, with one per primitive under ``primitives``.

    Where points of several kernels are among them, ``points`` has the errors of whole points.
    """
    frame = scored.frame
    groups: Sequence[tuple[Any, pd.DataFrame]] = list(frame.groupby("primitive")) if len(frame) else []
    found = {**summary(frame), "primitives": {str(name): summary(rows) for name, rows in groups}}
    if "point" in frame.columns and frame["point"].dropna().duplicated().any():
        found["points"] = _errors(point_errors(frame))
    return found


def measured_error() -> str:
    """The preview's error against the recorded gem5 runs: a line in short, one in full, one per primitive.

    The preview is scored anew each time, so that the lines are true of the model as it is; the errors of
    random layers come from ``preview/measured.json``.
    """
    scored = score(read_tables(recorded()))
    errors = report(scored)
    share = errors["ordered_share"]
    ordered = (
        ""
        if share is None
        else f" Of pairs that gem5 tells apart by more than {100 * compare.APART:.0f} % along a sweep of "
        f"compute units, {100 * share:.1f} % are in its order."
    )
    refused = sum(scored.refused.values())
    primitives = ", ".join(
        f"{name} {100 * part['median_error']:.0f}/{100 * part['p90_error']:.0f}"
        for name, part in errors["primitives"].items()
    )
    layers = measured().layers
    return (
        f"Cycles {100 * errors['median_error']:.1f} % off in the median, "
        f"{100 * errors['p90_error']:.1f} % at the 90th percentile of {errors['runs']} gem5 runs; of "
        f"{layers['points']} layers drawn at random {100 * layers['median']:.1f} and "
        f"{100 * layers['p90']:.1f} %.\n"
        f"The {errors['runs']} runs are of MIOpen's kernels on 1 to 64 compute units. Their error is "
        f"{100 * errors['mean_error']:.1f} % in the mean, {100 * errors['max_error']:.0f} % at most.{ordered}"
        + (f" {refused} further runs it does not model." if refused else "")
        + f"\nMedian/90th percentile of each primitive, in %: {primitives} (command: apuflow score)."
    )
