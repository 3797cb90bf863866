"""The preview's error against runs of real gem5, in numbers and in sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
from apuflow.preview.residual import FOLDS
from apuflow.preview.step import Step
from apuflow.preview.tables import Launches
from apuflow.preview.timing import times_of
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


RECORDED = (
    *("layers.csv.xz", "runs.csv", "campaign.csv", "products.csv", "networks.csv", "networks_2.csv"),
    *("wide.csv", "scaling.csv", "large.csv"),
)
"""The tables of runs that the correction was learned from: all but ``networks_3.csv``."""
UNSEEN = tuple(map(str, range(24, 29)))
"""Samples of random layers from which nothing was learned, and by which no rule was chosen."""


def layer_names(frame: pd.DataFrame) -> list[str]:
    """Kernel and shape of each run, whatever its machine."""
    columns = [column for column in SHAPE if column in frame.columns and column != "launch"]
    rows = frame[columns].fillna("").astype(str).to_dict("records")
    return ["|".join(f"{column} {cell}" for column, cell in row.items() if cell) for row in rows]


def learned(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Of recorded runs, those that take part in the learning of the correction."""
    if "draw" not in frame.columns:
        return np.ones(len(frame), dtype=np.bool_)
    return (~frame["draw"].astype(str).isin(UNSEEN)).to_numpy()


@cache
def _seen() -> frozenset[str]:
    """Layers from which the correction was learned."""
    tables = [read_runs(project.recorded_runs() / name) for name in RECORDED]
    return frozenset(name for table in tables for name in layer_names(table[learned(table)]))


def folds(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Part of the layers that each run is of, by a hash; -1 where nothing was learned from its layer."""
    names, seen = layer_names(frame), _seen()
    return np.array([fold(name) if name in seen else -1 for name in names], dtype=np.int64)


def fold(name: str) -> int:
    """Part of the layers that this one is of."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % FOLDS


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


def read_runs(path: str | Path) -> pd.DataFrame:
    """A table of runs, CSV or Parquet, without rows of the preview or without completed cycles.

    It has one row per kernel, or is a result table of engines with its runs beside it (``score_runs``).

    Raises:
        ConfigError: the file is missing, is no table, or lacks a column.
    """
    file = Path(path)
    try:
        if file.suffix == ".parquet":
            frame = pd.read_parquet(file, page_checksum_verification=True)
        else:
            frame = pd.read_csv(file, dtype=str)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        reason, remedy = str(error).splitlines()[0], f"give a CSV file like {recorded()[0]}"
        raise ConfigError("cannot read the table of runs", file=file, value=reason, remedy=remedy) from error
    if is_result_table(frame):
        return record_rows(file, frame)
    required = [*REQUIRED, *(() if "config" in frame.columns else "nchw")]
    missing = ", ".join(column for column in required if column not in frame.columns)
    if missing:
        remedy = f"it needs {', '.join(required)}"
        raise ConfigError("the table of runs lacks columns", file=file, key=missing, remedy=remedy)
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

    def unrolled(self) -> tuple[NDArray[np.intp], Array, Launches]:
        """Each step of all rows: its row, how often it runs, and its launch on the row's machine."""
        row = np.repeat(np.arange(len(self.machines)), [len(steps) for steps in self.steps])
        every = [step for steps in self.steps for step in steps]
        often = np.array([float(step.times) for step in every])
        return row, often, Launches.of(every, [self.machines[k] for k in row])

    def predicted(self) -> tuple[Array, list[str]]:
        """GPU cycles of each row's kernel, the mean of all its passes, and what bounds most of them."""
        machines, (row, often, launches) = self.machines, self.unrolled()
        result = times_of(launches, folds=folds(self.frame)[row])
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
            problem = f"run {number + 1}: {error.message}"
            raise ConfigError(problem, key=error.key, value=text(cells, "id")) from error
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
    right = pairs = 0
    units = frame["num_compute_units"].astype(float).tolist()
    runs = list(zip(pd.to_numeric(frame["gpu_cycles"]).tolist(), frame["predicted"].tolist(), strict=True))
    for rows in sweeps(frame):
        for a, b in combinations(rows, 2):
            if units[a] != units[b]:
                counts = compare.ordered_pairs([runs[a], runs[b]])
                right, pairs = right + counts[0], pairs + counts[1]
    return right, pairs


def summary(frame: pd.DataFrame) -> dict[str, Any]:
    """What scored rows show in numbers.

    Returns:
        ``median_error``, ``mean_error``, ``p90_error``, ``max_error`` (absolute, relative), the number of
        ``ordered_pairs`` and the ``ordered_share`` of them in the measured order, ``runs``.
    """
    right, pairs = ordered_pairs(frame)
    share = right / pairs if pairs else None
    return {**_errors(frame["error"]), "ordered_share": share, "ordered_pairs": pairs}


def _errors(error: pd.Series) -> dict[str, Any]:
    off = error.abs()
    numbers = {"median": off.median(), "mean": off.mean(), "p90": off.quantile(0.9), "max": off.max()}
    found = {f"{name}_error": None if off.empty else float(number) for name, number in numbers.items()}
    return {**found, "runs": len(off)}


def point_errors(frame: pd.DataFrame) -> pd.Series:
    """Of scored rows the error of each ``point``: of the cycles of all its kernels together."""
    cycles = pd.DataFrame({"predicted": frame["predicted"], "measured": pd.to_numeric(frame["gpu_cycles"])})
    sums = cycles.mul(frame["passes"], axis=0).groupby(frame["point"]).sum()
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
    median, p90, mean, largest = (100 * errors[f"{name}_error"] for name in ("median", "p90", "mean", "max"))
    share, refused = errors["ordered_share"], sum(scored.refused.values())
    primitives = ", ".join(
        f"{name} {100 * part['median_error']:.0f}/{100 * part['p90_error']:.0f}"
        for name, part in errors["primitives"].items()
    )
    layers = measured().layers
    told = (
        f"Cycles {median:.1f} % off in the median, {p90:.1f} % at the 90th percentile of {errors['runs']} "
        f"gem5 runs; of {layers['points']} layers drawn at random {100 * layers['median']:.1f} and "
        f"{100 * layers['p90']:.1f} %.\n"
        f"The {errors['runs']} runs are of MIOpen's kernels on 1 to 64 compute units. Their error is "
        f"{mean:.1f} % in the mean, {largest:.0f} % at most."
    )
    if share is not None:
        told += f" Of pairs that gem5 tells apart by more than {100 * compare.APART:.0f} % along a sweep of "
        told += f"compute units, {100 * share:.1f} % are in its order."
    if refused:
        told += f" {refused} further runs it does not model."
    return f"{told}\nMedian/90th percentile of each primitive, in %: {primitives} (command: apuflow score)."
