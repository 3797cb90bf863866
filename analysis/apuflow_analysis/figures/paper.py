"""The DNNMark paper beside this machine: what it says with our numbers, and the kernels that dominate.

Source: Dong and Kaeli, "DNNMark: A Deep Neural Network Benchmark Suite for GPUs" (GPGPU-10, 2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from apuflow_analysis.figures.axis import FigureError, Where
from apuflow_analysis.figures.interval import note, origin_notes
from apuflow_analysis.figures.plot import GREEN, VERMILLION, Plot, finish, style, text_table
from apuflow_analysis.figures.selection import DIRECTIONS, completed, engines_of, machine_note, reading_order
from apuflow_analysis.tables.columns import BOUNDS, busy

NEEDED = ("ipc", "occupancy", "valu_utilization", "stall_share_memory")
BUSY = ("conv", "lrn", "pool", "fc")
HOLDS, NOT, UNKNOWN = "holds", "contradicted", "cannot be judged here"
LOW, HIGH = 0.4, 0.6
"""Limits of nvprof's levels of use, by which the paper speaks: 1 to 3 of 10 are low, 7 to 10 high (NVIDIA,
Profiler User's Guide, ``alu_fu_utilization``)."""
HALF = 0.5
"""Share of the wavefront slots below which an occupancy is low; share of the stalls that is most of them."""
_MEMORY = ("tokens", "tlb", "line", "tcp_link", "tcc_link", "directory_link", "dram")
_PAPER = (
    "the paper measured an NVIDIA Tesla K40 (15 multiprocessors of 192 cores at 745 MHz, warps of 32, 1.5 MB "
    "of L2, GDDR5 at 208 GB/s by its Table 1, 288 GB/s by NVIDIA's data sheet) through cuDNN; here run "
    "MIOpen's kernels: compare who is above whom"
)
_STALLS = {
    "stall_share_memory": "memory",
    "stall_share_execution": "registers of earlier instructions",
    "stall_share_fetch": "instruction fetch",
    "stall_share_sync": "barriers",
    "stall_share_not_selected": "not being selected",
}


@style()
def statements(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> Plot:
    """What the paper says of its primitives, whether it holds on this machine, with numbers and why.

    The table has one point per workload and engine; ``x`` has no meaning here.

    Raises:
        FigureError: a workload has several points, or none of the statements' primitives is there.
    """
    rows, notes = completed(frame, where)
    engines = engines_of(rows)
    own = rows[rows["engine"] == engines[0]]
    twice = own.loc[own["workload"].duplicated(), "workload"]
    if len(twice):
        message = "the paper's statements are about one machine"
        remedy = "select one point per workload with where=, or use a sweep in which nothing varies"
        raise FigureError(message, key="workload", value=twice.iloc[0], remedy=remedy)
    judged = list(_judge(own.set_index("workload")))
    if not judged:
        raise FigureError("the table has none of the primitives that the paper speaks of")
    data = pd.DataFrame(judged, columns=["statement", "criterion", "verdict", "numbers", "why"])
    figure = text_table(
        ["The paper says", "Holds if, in both passes", "Here", "Numbers, forward and backward", "Why"],
        judged,
        [0.19, 0.20, 0.11, 0.23, 0.27],
        {HOLDS: GREEN, NOT: VERMILLION},
    )
    title = "Statements of the DNNMark paper on this machine"
    all_notes = (machine_note(own, engines[:1]), *note(own), *notes, *origin_notes(own), _PAPER)
    return finish(figure, data, title, all_notes)


def _judge(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, str, str]]:
    """Statement, criterion, verdict, numbers and reason of each statement whose primitive is in the table."""
    if (pair := _pair(rows, "activation")) is not None:
        memory, valu = pair["stall_share_memory"], pair["valu_utilization"]
        bound = pair["bound"].isin([*_MEMORY, None]).all() if "bound" in pair else True
        yield (
            "ReLU is memory bound",
            "more than half of the stalls are for memory, and a part of the memory path is the bound",
            HOLDS if (memory > HALF).all() and bound else NOT,
            f"stalled on memory {_percents(memory)}; VALU busy {_percents(valu)}",
            _why(pair),
        )
        yield (
            "Activation: low occupancy",
            f"less than {100 * HALF:.0f} % of the wavefront slots are occupied",
            HOLDS if (pair["occupancy"] < HALF).all() else NOT,
            f"occupancy {_percents(pair['occupancy'])}",
            _why(pair),
        )
    for program in BUSY:
        if (pair := _pair(rows, program)) is None:
            continue
        valu = pair["valu_utilization"]
        high, low = (valu >= HIGH).all(), (valu < LOW).any()
        yield (
            f"{program}: high in IPC and in use of the ALUs",
            f"the ALUs are busy for {100 * HIGH:.0f} % or more (nvprof's level high); an IPC of warps of 32 "
            "has no equal here",
            HOLDS if high else NOT if low else UNKNOWN,
            f"IPC {_numbers(pair['ipc'])}; VALU busy {_percents(valu)}",
            ("" if high or low else "between nvprof's levels low and high; ") + _why(pair),
        )
    if (pair := _pair(rows, "pool")) is not None and len(pair) == 2:
        (occupancy, other_occupancy), (ipc, other_ipc) = pair["occupancy"], pair["ipc"]
        for said, right, numbers in (
            ("higher occupancy", other_occupancy > occupancy, f"occupancy {_percents(pair['occupancy'])}"),
            ("lower IPC", other_ipc < ipc, f"IPC {_numbers(pair['ipc'])}"),
        ):
            statement = f"Pooling: backward has {said} than forward"
            verdict = HOLDS if right else NOT
            yield statement, f"backward's is {said.split()[0]}", verdict, numbers, _why(pair)


def _pair(rows: pd.DataFrame, program: str) -> pd.DataFrame | None:
    names = [name for name in (f"{program}_fwd", f"{program}_bwd") if name in rows.index]
    found = rows.loc[names].dropna(subset=list(NEEDED))
    return found if len(found) else None


def _why(pair: pd.DataFrame) -> str:
    """What limits a primitive's points and how busy it is, else what their wavefronts wait for most."""
    reasons: dict[str, list[str]] = {}
    for _, row in pair.iterrows():
        bound = row.get("bound")
        if isinstance(bound, str) and bound in BOUNDS:
            reason = f"limited by {BOUNDS[bound].meaning}{_use(row, bound)}"
        else:
            known = {name: row[name] for name in _STALLS if name in row and row[name] == row[name]}
            most = max(known, key=lambda name: float(known[name]))
            reason = f"waits most for {_STALLS[most]} ({100 * known[most]:.0f} %)"
        reasons.setdefault(reason, []).append(DIRECTIONS[str(row["direction"])])
    if len(reasons) == 1:
        return next(iter(reasons))
    return "; ".join(f"{' and '.join(which)} {reason}" for reason, which in reasons.items())


def _use(row: pd.Series[Any], bound: str) -> str:
    """How busy the unit that limits a point is; where none does, the busiest one."""
    shares = busy(row)
    if bound in shares:
        return f" (busy {100 * shares[bound]:.0f} %)"
    if BOUNDS[bound].metrics or not shares:
        return ""
    most = max(shares, key=lambda name: shares[name])
    return f" (busiest: {BOUNDS[most].label}, {100 * shares[most]:.0f} %)"


def _numbers(values: pd.Series[float]) -> str:
    return " / ".join(f"{value:.2g}" for value in values)


def _percents(values: pd.Series[float]) -> str:
    shares = (100 * value for value in values)
    return " / ".join(f"{share:.0f}" if share >= 10 else f"{share:.2g}" for share in shares) + " %"


@style()
def dominant_kernels(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> Plot:
    """The kernel that takes most of a benchmark's GPU cycles, forward and backward (the paper's table 4).

    The table has one row per kernel launch; of several points of a workload the last one counts. ``x`` has no
    meaning here.
    """
    rows, notes = completed(frame, where, wrong_too=True)
    rows = rows[rows["engine"] == engines_of(rows)[0]].dropna(subset=["kernel", "gpu_cycles"])
    rows = rows[rows["point"] == rows.groupby("workload")["point"].transform("last")]
    sums = rows.groupby(["workload", "direction", "program", "kernel"], sort=False)["gpu_cycles"].sum()
    shares = (sums / sums.groupby(level="workload").transform("sum")).reset_index(name="share")
    top = shares.sort_values("share", ascending=False, kind="stable").drop_duplicates("workload")
    cells: dict[str, dict[str, tuple[str, str]]] = {}
    for _, row in top.iterrows():
        own = (str(row["kernel"]), f"{100 * row['share']:.0f} %")
        cells.setdefault(str(row["program"]), {})[str(row["direction"])] = own
    none = ("", "")
    order = sorted(cells, key=reading_order)
    figure = text_table(
        ["Benchmark", "Dominant kernel forward", "Share", "Dominant kernel backward", "Share"],
        [
            (name, *cells[name].get("fwd", cells[name].get("both", none)), *cells[name].get("bwd", none))
            for name in order
        ],
        [0.14, 0.35, 0.08, 0.35, 0.08],
    )
    title = "Dominant kernels (as table 4 of the DNNMark paper)"
    notes = [machine_note(rows, engines_of(rows)), *note(rows), *notes, "share of the benchmark's GPU cycles"]
    places = [order.index(name) for name in top["program"]]
    data = top.assign(_place=places).sort_values(["_place", "direction"], ascending=[True, False])
    return finish(figure, data.drop(columns="_place").reset_index(drop=True), title, notes)
