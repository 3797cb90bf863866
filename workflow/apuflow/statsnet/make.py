"""One small suite for a set of networks and suites, with the proof that it represents them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_files
from apuflow.statsnet import check
from apuflow.statsnet.fit import Mix, fit
from apuflow.statsnet.profile import TOTAL, Operations, check_settings, operations, statistics
from apuflow.suites.lists import OPERATION_COLUMNS
from apuflow.suites.step import PHASES


@dataclass(frozen=True)
class Request:
    """The request.

    Attributes:
        names: suites of the set.
        settings: ``key=value``: the machine of the statistics, ``n``, ``direction`` ...
        most: operations at most.
        equal: whether every suite counts with the same cycles.
        held_out: suites that take no part and whose order of machines is compared.
        bound: largest error of a statistic. curve_bound: of the speedup.
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
        statistics, speedups: from ``check``. ranking: the same; None where nothing is held out.
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
    cycles = check.cycles_over_units(names, settings, root, found)
    extremes = pd.DataFrame(
        {(TOTAL, f"cycles on {units} compute units"): cycles[units] for units in check.FITTED}
    ).T
    columns = pd.concat([statistics(found.points), extremes])
    columns.index.names = ["statistic", "part"]
    mix = fit(columns, found.weights, request.most, request.bound)
    once = found.cycles
    return StatsNet(
        request,
        found,
        mix,
        check.statistics_table(columns, found.weights, mix),
        check.speedups(cycles, found.weights, mix),
        check.ranking(names, request.held_out, settings, mix, root, equal=request.equal)
        if request.held_out
        else None,
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
    """Write it as a suite: its file and its table.

    Args:
        command: the command line that made it, kept as the suite's source.
    """
    files = _files(name, root)
    request, mix = made.request, made.mix
    counts = f"{len(mix.repeats)} of {len(made.operations.points)} operations"
    told = f"StatsNet of {', '.join(request.names)}: {counts}"
    iterations = "one iteration" if mix.iterations == 1 else f"{mix.iterations} iterations"
    note = f"its repeats stand for {iterations} of the set"
    text = "".join(
        f"{key}: {value}\n"
        for key, value in (
            ("description", json.dumps(told)),
            ("kind", "operations"),
            ("table", name),
            ("source", json.dumps(command)),
            ("note", json.dumps(note)),
            ("preview", json.dumps(PREVIEW_VERSION)),
        )
    )
    write_files({files[0]: text.encode(), files[1]: _table(made).encode()})
    return files


def _table(made: StatsNet) -> str:
    """Its operations as rows, forward first, the most repeated of a phase first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(OPERATION_COLUMNS)
    steps = made.operations.steps
    for text, repeats in sorted(
        made.mix.repeats.items(), key=lambda pair: (PHASES.index(steps[str(pair[0])][1].phase), -pair[1])
    ):
        suite, step = steps[str(text)]
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
