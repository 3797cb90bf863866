"""Latencies and bandwidths from the launches of the workloads ``ladder_*``, and numbers published for GPUs.

A kernel that ends in ``_long`` does what ``_short`` of the same point does, and more. Both find the same
state of the caches. So the difference of their cycles is the time of the additional work, without starts of
launches and cold misses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import pandas as pd

from apuflow.core.project import place
from apuflow.core.units import clock_hertz

PUBLISHED: Final = "data/published_latency_bandwidth.csv"
LINE, PAGE = 64, 4096
WAVEFRONT: Final = 64
SAME: Final = ["engine", "machine", "release", "workload", "point"]


class _Ladder(NamedTuple):
    """What the kernels of a name measure.

    Attributes:
        quantity, unit: name of the number, its unit.
        across: column of the value across, and its meaning.
        value: of the point's columns and the cycles.
        needs: parameters of the workload that ``value`` reads.
    """

    quantity: str
    unit: str
    across: Callable[[Mapping[str, Any]], float]
    value: Callable[[Mapping[str, Any], float], float]
    needs: tuple[str, ...]


def _walked(row: Mapping[str, Any]) -> float:
    return float(row["layer.count"] * row["layer.stride"])


def _hop(row: Mapping[str, Any], cycles: float) -> float:
    return float(cycles / (-(-row["layer.hops"] // row["layer.count"]) * row["layer.count"]))


def _bytes(row: Mapping[str, Any]) -> float:
    return float(row["layer.bytes"])


def _streamed(row: Mapping[str, Any], cycles: float, directions: int = 1) -> float:
    passes = max(1, row["layer.volume"] // row["layer.bytes"])
    return float(directions * passes * row["layer.bytes"] / cycles / row["num_compute_units"])


def _copied(row: Mapping[str, Any], cycles: float) -> float:
    return _streamed(row, cycles, directions=2)


def _atomics(row: Mapping[str, Any], cycles: float) -> float:
    return float(WAVEFRONT * row["num_compute_units"] * row["layer.rounds"] / cycles)


def _of_lds(row: Mapping[str, Any], cycles: float) -> float:
    """Latency of one wavefront's reads; bandwidth of several."""
    reads = row["layer.reads"]
    return float(
        cycles / reads if row["layer.waves"] == 1 else row["layer.waves"] * reads * 4 * WAVEFRONT / cycles
    )


_STREAM = ("bytes", "volume")
_PER_UNIT = "B/cycle and compute unit"
LADDERS: Final[Mapping[str, _Ladder]] = {
    "walk": _Ladder("latency", "cycle", _walked, _hop, ("count", "stride", "hops")),
    "read": _Ladder("read bandwidth", _PER_UNIT, _bytes, _streamed, _STREAM),
    "write": _Ladder("write bandwidth", _PER_UNIT, _bytes, _streamed, _STREAM),
    "copy": _Ladder("copy bandwidth", _PER_UNIT, _bytes, _copied, _STREAM),
    "atomics": _Ladder(
        "atomics", "1/cycle", lambda row: float(row["layer.lines"]), _atomics, ("lines", "rounds")
    ),
    "lds": _Ladder("LDS", "", lambda row: float(row["layer.ways"]), _of_lds, ("ways", "waves", "reads")),
}
"""By the name of their kernels without ``_short`` and ``_long``."""


def measured(launches: pd.DataFrame) -> pd.DataFrame:
    """What the ladders of a table of launches measured.

    Args:
        launches: a row per launch, as ``apuflow.results.kernels.kernel_rows``.

    Returns:
        A row per point: ``SAME``, ``num_compute_units gpu_clock tcp_bytes tcc_bytes tlb_bytes stride``,
        ``quantity unit across value``. ``across`` is bytes, lines (atomics), work-items a bank (LDS) or
        workgroups (launch). A difference of 0 cycles or less has no row: the engine did not follow them.
    """
    rows = []
    for _, own in launches.groupby(SAME, sort=False, dropna=False):
        first = {str(name): value for name, value in own.iloc[0].items()}
        cycles = dict(zip(own["kernel"].map(str), own["gpu_cycles"].astype(float), strict=True))
        rows += [{**_about(first), **found} for found in _of_point(first, cycles)]
    columns = [*SAME, *_ABOUT, "stride", "quantity", "unit", "across", "value"]
    return pd.DataFrame(rows, columns=columns)


_ABOUT = ("num_compute_units", "gpu_clock", "tcp_bytes", "tcc_bytes", "tlb_bytes")


def _about(first: Mapping[str, Any]) -> dict[str, Any]:
    return {name: first[name] for name in (*SAME, *_ABOUT)} | {"stride": first.get("layer.stride")}


def _of_point(first: Mapping[str, Any], cycles: Mapping[str, float]) -> list[dict[str, Any]]:
    """Numbers of a point; of several launches of a kernel the last one counts, which finds its code."""
    for name, ladder in LADDERS.items():
        both = f"{name}_short" in cycles and f"{name}_long" in cycles
        if not both or any(first.get(f"layer.{need}") != first.get(f"layer.{need}") for need in ladder.needs):
            continue
        more = cycles[f"{name}_long"] - cycles[f"{name}_short"]
        if more <= 0:
            return []
        quantity, unit = ladder.quantity, ladder.unit
        if name == "lds":
            alone = first["layer.waves"] == 1
            quantity, unit = ("LDS latency", "cycle") if alone else ("LDS bandwidth", _PER_UNIT)
        return [_number(quantity, unit, ladder.across(first), ladder.value(first, more))]
    if "walk_once" in cycles:
        return [
            _number("latency of inputs", "cycle", _walked(first), cycles["walk_once"] / first["layer.hops"])
        ]
    if "nothing" in cycles:
        return [_number("launch", "cycle", float(first["layer.workgroups"]), cycles["nothing"])]
    return []


def _number(quantity: str, unit: str, across: float, value: float) -> dict[str, Any]:
    return {"quantity": quantity, "unit": unit, "across": across, "value": value}


def published() -> pd.DataFrame:
    """Numbers that were published, in the units of ``measured`` where clock and compute units are known.

    Returns:
        The columns of the file, and ``converted``: cycles, or bytes per cycle and compute unit.
    """
    frame = pd.read_csv(place(PUBLISHED))
    scale = frame["unit"].map({"GiB/s": 2.0**30, "GB/s": 1e9, "cycle": 1.0})
    per_unit = frame["compute_units"] * frame["clock_mhz"] * 1e6
    frame["converted"] = frame["value"] * scale / per_unit.where(frame["quantity"] == "bandwidth", 1.0)
    return frame


def nanoseconds(cycles: float, clock: object) -> float:
    """A time in cycles of a clock as ``1GHz`` or ``1801MHz``."""
    return 1e9 * cycles / (clock_hertz(str(clock)) or float("nan"))


def levels(own: pd.DataFrame) -> dict[str, float]:
    """What the parts of one machine and engine have, by name; parts that no point reached are missing.

    Of a cache the numbers are those of the largest walk or set of at most half its bytes, of the memory those
    of the largest one of at least twice the bytes of the TCC.
    """
    found: dict[str, float] = {}
    units = float(own["num_compute_units"].iloc[0])
    tcp, tcc = float(own["tcp_bytes"].iloc[0]), float(own["tcc_bytes"].iloc[0])
    for quantity, inner in (
        ("latency", tcp),
        ("read bandwidth", units * tcp),
        ("write bandwidth", units * tcp),
    ):
        rows = own[(own["quantity"] == quantity) & (own["stride"] != PAGE)].sort_values("across")
        places = {
            "TCP": rows[rows["across"] <= inner / 2],
            "TCC": rows[(rows["across"] > inner) & (rows["across"] <= tcc / 2)],
            "memory": rows[rows["across"] >= 2 * tcc],
        }
        for level, part in places.items():
            if len(part):
                found[f"{level} {quantity}"] = float(part["value"].iloc[-1])
    for quantity in ("LDS latency", "LDS bandwidth", "atomics", "launch"):
        rows = own[own["quantity"] == quantity].sort_values("across")
        if len(rows):
            found[quantity] = float(rows["value"].iloc[0])
    return found
