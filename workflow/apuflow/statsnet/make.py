"""One small suite for a set of networks and suites, with the proof that it represents them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_files
from apuflow.statsnet.fit import Mix, fit, scales
from apuflow.statsnet.profile import (
    BYTES,
    FLOP,
    TOTAL,
    Operations,
    check_settings,
    operations,
    replaced,
    statistics,
)
from apuflow.suites.lists import OPERATION_COLUMNS
from apuflow.suites.step import PHASES


@dataclass(frozen=True)
class Request:
    """Suites of a set, and what is wanted of their StatsNet.

    Attributes:
        settings: ``key=value``: the machine of the statistics, ``n``, ``direction`` ...
        most: operations at most.
        equal: whether every suite counts with the same cycles.
        held_out: suites that take no part and whose order of machines is compared.
        bound: largest error of a statistic; ``curve_bound``: of the speedup.
    """

    names: tuple[str, ...]
    settings: tuple[str, ...] = ()
    most: int = 20
    equal: bool = False
    held_out: tuple[str, ...] = ()
    bound: float = 0.02
    curve_bound: float = 0.03


@dataclass(frozen=True)
class StatsNet:
    """What was found.

    Attributes:
        ranking: None where nothing is held out.
        cost: cycles of its operations, each once, over those of an iteration of the set.
    """

    request: Request
    operations: Operations
    mix: Mix
    statistics: pd.DataFrame
    speedups: pd.DataFrame
    ranking: pd.DataFrame | None
    cost: float

    @property
    def holds(self) -> bool:
        """Whether statistics and speedup are within their bounds."""
        worst = self.statistics["error"].abs().max(), self.speedups["error"].abs().max()
        return bool(worst[0] <= self.request.bound and worst[1] <= self.request.curve_bound)


def make(request: Request, root: Path = Path()) -> StatsNet:
    """Find a mix that represents a set, and check it.

    Raises:
        ConfigError: an unknown suite or setting, or a suite of which no engine runs anything.
        NotModelled: the preview lacks an option or a kernel.
    """
    check_settings(request.settings)
    names, settings = request.names, request.settings
    found = operations(names, settings, root, equal=request.equal)
    cycles = {}
    for units in COMPUTE_UNITS:
        here = operations(names, replaced(settings, [f"num-compute-units={units}"]), root)
        cycles[units] = here.cycles[list(found.points)]
    extremes = {(TOTAL, f"cycles on {units} compute units"): cycles[units] for units in FITTED}
    columns = pd.concat([statistics(found.points), pd.DataFrame(extremes).T])
    columns.index.names = ["statistic", "part"]
    mix = fit(columns, found.weights, request.most, request.bound)
    once = found.cycles
    return StatsNet(
        request,
        found,
        mix,
        statistics_table(columns, found.weights, mix),
        speedups(cycles, found.weights, mix),
        ranking(request, mix, root) if request.held_out else None,
        float(once[mix.repeats.index].sum() / (once * found.weights).sum()),
    )


def check_free(name: str, root: Path = Path(), *, force: bool = False) -> None:
    """Refuse the name of a new suite that cannot be used.

    Raises:
        ConfigError: it can be no file's name, or there is a suite of this name.
    """
    for file in _files(name, root):
        check_new_name(name, "suite", file, force=force)


def _files(name: str, root: Path) -> list[Path]:
    return [root / paths.suite_file(name), root / paths.suite_table(name)]


def write(name: str, made: StatsNet, command: str, root: Path = Path()) -> list[Path]:
    """Write it as a suite: its file, whose source is the ``command`` line, and its table."""
    files = _files(name, root)
    request, mix = made.request, made.mix
    counts = f"{len(mix.repeats)} of {len(made.operations.points)} operations"
    told = f"StatsNet of {', '.join(request.names)}: {counts}"
    iterations = "one iteration" if mix.iterations == 1 else f"{mix.iterations} iterations"
    note = f"its repeats stand for {iterations} of the set"
    text = (
        f"description: {json.dumps(told)}\n"
        "kind: operations\n"
        f"table: {name}\n"
        f"source: {json.dumps(command)}\n"
        f"note: {json.dumps(note)}\n"
        f"preview: {json.dumps(PREVIEW_VERSION)}\n"
    )
    write_files({files[0]: text.encode(), files[1]: _table(made).encode()})
    return files


def _table(made: StatsNet) -> str:
    """Its operations as rows, forward first, the most repeated of a phase first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(OPERATION_COLUMNS)
    rows = [(text, repeats, *made.operations.steps[str(text)]) for text, repeats in made.mix.repeats.items()]
    for text, repeats, suite, step in sorted(rows, key=lambda row: (PHASES.index(row[3].phase), -row[1])):
        flop = step.flop // step.repeats * repeats
        writer.writerow([text, step.op, step.phase, repeats, flop, f"{suite} {step.name}"])
    return out.getvalue()


def report(made: StatsNet) -> pd.DataFrame:
    """Every number: statistics, speedup and, with suites held out, seconds by machine.

    Returns:
        Columns ``check``, ``part``, ``target``, ``got``, ``error``; of machines, the target is the set and
        a row per other suite follows with its own seconds as ``got``.
    """
    statistics_rows = made.statistics.reset_index().rename(columns={"statistic": "check"})
    curve = made.speedups.reset_index().rename(columns={"compute_units": "part"})
    curve.insert(0, "check", "speedup by compute units")
    frames = [statistics_rows, curve]
    if made.ranking is not None:
        long = made.ranking.reset_index().melt(["machine", "set"], var_name="suite", value_name="got")
        long["check"] = "seconds of " + long.pop("suite")
        frames.append(long.rename(columns={"machine": "part", "set": "target"}))
    return pd.concat(frames, ignore_index=True)[["check", "part", "target", "got", "error"]]


COMPUTE_UNITS: Final = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
"""Where the speedup is compared."""
FITTED: Final = (1, 8, 16, 32, 48, 64)
"""Those of them whose cycles the fit is given, beside the set's own machine."""
MACHINES: Final = {
    "4 CUs": ["num-compute-units=4"],
    "16 CUs": ["num-compute-units=16"],
    "64 CUs": ["num-compute-units=64"],
    "4 CUs at 2 GHz": ["num-compute-units=4", "gpu-clock=2GHz"],
    "16 CUs, wide links": ["num-compute-units=16", "bw-scalor=1"],
    "64 CUs, wide links": ["num-compute-units=64", "bw-scalor=1"],
    "16 CUs, TCC of 1 MB": ["num-compute-units=16", "tcc-size=1MB"],
    "16 CUs, 4 TCC banks": ["num-compute-units=16", "num-tccs=4"],
    "16 CUs, DDR3-2133": ["num-compute-units=16", "mem-type=DDR3_2133_8x8"],
    "16 CUs, 256 vector registers": ["num-compute-units=16", "vreg-file-size=256"],
}
"""Machines that are put in order."""
TIE: Final = 0.01
"""Two machines whose times differ by less are in no order."""


def statistics_table(columns: pd.DataFrame, weights: pd.Series[float], mix: Mix) -> pd.DataFrame:
    """Every statistic: of the set, of the mix per iteration of the set, and the error.

    The error of a part is a share of its statistic's sum; that of a total or of a ratio, a share of itself.
    """
    target = columns @ weights
    got = columns[mix.repeats.index] @ mix.repeats / mix.iterations
    table = pd.DataFrame({"target": target, "got": got, "error": (got - target) / scales(target)})
    if target[TOTAL, FLOP] > 0:
        ratio = {name: table[name][TOTAL, FLOP] / table[name][TOTAL, BYTES] for name in ("target", "got")}
        error = ratio["got"] / ratio["target"] - 1
        table.loc[("arithmetic intensity", f"{FLOP} per byte"), :] = {**ratio, "error": error}
    return table


def speedups(cycles: dict[int, pd.Series[float]], weights: pd.Series[float], mix: Mix) -> pd.DataFrame:
    """Speedup of the set and of the mix over the smallest of the numbers of compute units."""
    spent = pd.DataFrame(
        {
            "target": {units: float((once * weights).sum()) for units, once in cycles.items()},
            "got": {units: mix.weighted(once) for units, once in cycles.items()},
        }
    )
    frame = spent.rdiv(spent.loc[min(cycles)])
    return frame.assign(error=frame["got"] / frame["target"] - 1).rename_axis("compute_units")


def ranking(request: Request, mix: Mix, root: Path = Path()) -> pd.DataFrame:
    """Seconds on every one of ``MACHINES``: of the set, of the mix, and of suites that took no part.

    A machine's own settings replace those of the set.
    """
    rows = {}
    for machine, options in MACHINES.items():
        here = replaced(request.settings, options)
        found = operations(request.names, here, root, equal=request.equal)
        once = found.seconds
        rows[machine] = {"set": float((once * found.weights).sum()), "statsnet": mix.weighted(once)}
        for other in request.held_out:
            apart = operations([other], here, root)
            rows[machine][other] = float((apart.seconds * apart.weights).sum())
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("machine")


def agreement(one: pd.Series[float], other: pd.Series[float]) -> tuple[int, int]:
    """How many pairs of machines two columns of ``ranking`` put into the same order.

    Returns:
        Pairs in the same order, and pairs that both columns tell apart by more than ``TIE``.
    """
    logarithms = np.log(one.to_numpy()), np.log(other.to_numpy())
    gaps = [np.subtract.outer(values, values) for values in logarithms]
    apart = np.triu((np.abs(gaps[0]) > np.log1p(TIE)) & (np.abs(gaps[1]) > np.log1p(TIE)))
    return int((apart & (gaps[0] * gaps[1] > 0)).sum()), int(apart.sum())
