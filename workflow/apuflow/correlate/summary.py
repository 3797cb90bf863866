"""How far modelled times are from measured ones: errors, order, launch overhead.

WMAPE is the sum of the absolute errors over the sum of the measured times: long rows decide it. Bias is the
sum of the modelled times over that of the measured ones, minus 1. Rank correlation is Spearman's, of modelled
and measured times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from apuflow.core.errors import ConfigError
from apuflow.correlate.modelled import Modelled

KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("valu", "salu", "lds"), "compute"),
    **dict.fromkeys(("vmem", "tokens", "tcp_link", "tcc_link", "directory_link", "dram", "line"), "memory"),
    "tlb": "page walks",
    "latency": "latency",
}
"""What each bound of a table is here."""
LAUNCH: Final = "launch"
_TIMES: Final = ((1e-5, "up to 10 us"), (1e-4, "10 to 100 us"), (1e-3, "0.1 to 1 ms"), (np.inf, "over 1 ms"))


class Overhead(NamedTuple):
    """Seconds that a launch takes beside what its kernel does: at most, since the shortest kernels take time.

    Attributes:
        first: the shortest measured time of a single launch.
        later: of each launch after the first: the least that a row of several launches leaves for each, and
            no more than ``first``.
    """

    first: float
    later: float

    def of(self, launches: int) -> float:
        """Of so many launches, one after the other."""
        return self.first + self.later * (launches - 1)


def overhead(times: Sequence[tuple[float, int]]) -> Overhead:
    """The overhead that measured times show; no model takes part in it.

    Args:
        times: seconds and launches of each measurement.
    """
    single = [seconds for seconds, launches in times if launches == 1]
    first = min(single, default=min(seconds / launches for seconds, launches in times))
    several = [(seconds - first) / (launches - 1) for seconds, launches in times if launches > 1]
    return Overhead(first, max(0.0, min([first, *several])))


def table(modelled: Sequence[Modelled], launching: Overhead) -> pd.DataFrame:
    """A row a measurement: times in microseconds, alone and with the launch overhead, errors, bound."""
    rows = []
    for one in modelled:
        added = launching.of(one.launches)
        rows.append(
            {
                "kernel": one.measured.kernel,
                "size": one.measured.size,
                "workload": one.measured.workload,
                "engine": one.engine,
                "launches": one.launches,
                "measured_us": one.measured.seconds * 1e6,
                "modelled_us": one.seconds * 1e6,
                "overhead_us": added * 1e6,
                "modelled_with_overhead_us": (one.seconds + added) * 1e6,
                "bound": one.bound,
                "limit": LAUNCH if added >= one.measured.seconds / 2 else KINDS.get(one.bound, "not known"),
                "lane_operations": one.lane_operations,
                "bytes": one.bytes,
                "host": one.measured.host,
            }
        )
    frame = pd.DataFrame(rows)
    for name, column in (("error", "modelled_us"), ("error_with_overhead", "modelled_with_overhead_us")):
        frame[name] = frame[column] / frame["measured_us"] - 1.0
    return frame


class Errors(NamedTuple):
    """Errors of some rows; ``rank`` is None for fewer than three rows, or where all are equal."""

    rows: int
    wmape: float
    bias: float
    within_two: float
    rank: float | None


def errors(frame: pd.DataFrame, column: str) -> Errors:
    """Errors of the times in a column.

    Raises:
        ConfigError: there is no row.
    """
    if frame.empty:
        remedy = "measure sizes of workloads that are here, or raise --budget"
        raise ConfigError("no measurement is modelled", remedy=remedy)
    modelled, measured = frame[column].to_numpy(float), frame["measured_us"].to_numpy(float)
    ratio = modelled / measured
    return Errors(
        len(frame),
        float(np.abs(modelled - measured).sum() / measured.sum()),
        float(modelled.sum() / measured.sum() - 1.0),
        float(((ratio >= 0.5) & (ratio <= 2.0)).mean()),
        rank(frame, column),
    )


def rank(frame: pd.DataFrame, column: str) -> float | None:
    """Spearman's rank correlation of a column and the measured times; equal values share their mean rank."""
    if len(frame) < 3 or min(frame[column].nunique(), frame["measured_us"].nunique()) < 2:
        return None
    return float(frame[column].rank().corr(frame["measured_us"].rank()))


def groups(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Parts of the rows: by measured time, by what limits them, by what was measured, by kernel."""
    place = np.searchsorted([most * 1e6 for most, _ in _TIMES], frame["measured_us"])
    for number, (_, name) in enumerate(_TIMES):
        if (place == number).any():
            yield "measured time", name, frame[place == number]
    for limit, part in frame.groupby("limit"):
        yield "limit", str(limit), part
    told = frame["host"].ne("").map({False: "kernels alone", True: "with copies by the host"})
    for measured, part in frame.groupby(told):
        yield "measured", str(measured), part
    for kernel, part in frame.groupby("kernel"):
        yield "kernel", str(kernel), part
