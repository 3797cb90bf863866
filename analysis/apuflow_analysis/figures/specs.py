"""The figures: what each shows and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from apuflow_analysis.figures import (
    bars,
    bound,
    engines,
    heat,
    kernel_time,
    paper,
    pareto,
    releases,
    roofline,
    suites,
    utilization,
)
from apuflow_analysis.figures import lines as over_axis
from apuflow_analysis.figures.lines import Quantity
from apuflow_analysis.figures.style import Plot

Draw = Callable[..., Plot]


@dataclass(frozen=True)
class FigureSpec:
    """One entry of the registry.

    Attributes:
        name: file name and target.
        title: what a list of figures calls it.
        caption: what it shows, in a sentence or two.
        needed: columns of which the table must have at least one number each.
        draw: ``draw(frame, *, x=None, where=None, ...) -> Plot``.
        axes: how many axes must vary.
        engines: how many engines must have rows.
        releases: of how many gem5 releases there must be rows.
        objectives: how many objectives the sweep must name.
        any_of: columns of which at least one must have numbers.
        per_kernel: whether it needs a table with one row per kernel launch instead of one per point.
        per_item: whether it needs the items of suites instead.
        on_request: whether a report has it only where the sweep names it.
    """

    name: str
    title: str
    caption: str
    draw: Draw
    needed: tuple[str, ...] = ()
    axes: int = 0
    engines: int = 1
    releases: int = 0
    objectives: int = 0
    any_of: tuple[str, ...] = ()
    per_kernel: bool = False
    per_item: bool = False
    on_request: bool = False


def _over(name: str, shown: Quantity, caption: str) -> FigureSpec:
    return FigureSpec(name, shown.title, caption, partial(over_axis.over, shown=shown), (shown.column,))


_SPECS: tuple[FigureSpec, ...] = (
    FigureSpec(
        "speedup",
        "Speedup",
        "Speedup of the GPU's active time relative to the point that the figure names, with the ideal line; "
        "a ring marks where a line first reaches 90 % of its maximum.",
        over_axis.speedup,
        (over_axis.TIME,),
        axes=1,
    ),
    _over(
        "cycles",
        Quantity("gpu_cycles", "GPU cycles", "GPU cycles", logarithmic=True, power=1),
        "GPU cycles in which at least one compute unit was awake.",
    ),
    FigureSpec(
        "bound",
        "What limits each point",
        "The unit, link or latency that limits each point, where the engine knows it.",
        bound.bounds,
        (bound.COLUMN,),
    ),
    _over(
        "ipc",
        Quantity("ipc", "IPC per compute unit", "Instructions per cycle", paper=9, power=-1),
        "Wavefront instructions per awake cycle of a compute unit (DNNMark paper, figure 9).",
    ),
    _over(
        "occupancy",
        Quantity("occupancy", "Occupancy", "Achieved occupancy", percent=True, paper=10),
        "Share of the wavefront slots that hold a wavefront (DNNMark paper, figure 10).",
    ),
    _over(
        "eligible",
        Quantity("eligible_wavefronts", "Eligible wavefronts", "Eligible wavefronts per cycle", paper=11),
        "Wavefronts with an instruction ready, per cycle and compute unit (DNNMark paper, figure 11).",
    ),
    _over(
        "tcp_hit_rate",
        Quantity("tcp_load_hit_rate", "TCP hit rate", "TCP (L1) load hit rate", percent=True),
        "Share of the vector loads' cache lines that hit in the TCP.",
    ),
    _over(
        "tcc_hit_rate",
        Quantity("tcc_hit_rate", "TCC hit rate", "TCC (L2) hit rate", percent=True),
        "Share of the accesses that hit in the TCC.",
    ),
    _over(
        "dram_bandwidth",
        Quantity("dram_read_bandwidth", "GB/s", "DRAM read bandwidth", factor=1e-9, power=-1),
        "Bytes read from memory per second of the GPU's active time.",
    ),
    FigureSpec(
        "utilization",
        "Utilization by unit",
        "How busy each unit and link is, at the smallest and the largest machine; a diamond marks what "
        "limits the point (DNNMark paper, figure 12).",
        utilization.utilization,
        any_of=utilization.METRICS,
    ),
    FigureSpec(
        "stalls",
        "Stall reasons",
        "Why resident wavefronts did not issue, at the smallest and the largest machine.",
        bars.stalls,
        any_of=tuple(name for name, _, _ in bars.STALLS),
    ),
    FigureSpec(
        "instruction_mix",
        "Instruction mix",
        "Wavefront instructions by class, at the smallest and the largest machine.",
        bars.instruction_mix,
        any_of=tuple(name for name, _, _ in bars.MIX),
    ),
    FigureSpec(
        "roofline",
        "Roofline",
        "Attained throughput over operations per byte, under the ceilings of the machine's units and links.",
        roofline.roofline,
        ("gpu_time", *roofline.MACHINE),
        any_of=("flops", "valu_thread_cycles"),
    ),
    FigureSpec(
        "heatmap",
        "Heat map",
        "Speedup over two axes at once, per workload.",
        heat.heatmap,
        (heat.TIME,),
        axes=2,
    ),
    FigureSpec(
        "engines",
        "Engines compared",
        "GPU cycles of the same points by different engines.",
        engines.engine_comparison,
        (engines.VALUE,),
        engines=2,
    ),
    FigureSpec(
        "releases",
        "What changed between releases",
        "Cycles, instructions and DRAM traffic of the same points on several gem5 releases, over the oldest.",
        releases.release_comparison,
        ("gpu_cycles",),
        releases=2,
    ),
    FigureSpec(
        "kernels",
        "GPU cycles by kernel",
        "Shares of each point's GPU cycles by kernel.",
        kernel_time.kernel_breakdown,
        (kernel_time.KERNEL, kernel_time.CYCLES),
        per_kernel=True,
    ),
)

_SPECS += tuple(
    FigureSpec(name, title, caption, draw, (suites.ITERATION, suites.TIME), per_item=True)
    for name, (title, caption, draw) in suites.DRAWN.items()
)

_SPECS += (
    FigureSpec(
        "paper_statements",
        "Statements of the DNNMark paper",
        "What the DNNMark paper says of its primitives, whether it holds here, with numbers and why.",
        paper.statements,
        paper.NEEDED,
        on_request=True,
    ),
    FigureSpec(
        "dominant_kernels",
        "Dominant kernels",
        "The kernel with most of each benchmark's GPU cycles, forward and backward (DNNMark paper, table 4).",
        paper.dominant_kernels,
        (kernel_time.KERNEL, kernel_time.CYCLES),
        per_kernel=True,
        on_request=True,
    ),
    FigureSpec(
        "best_points",
        "Best points",
        "Points that none beats in every objective of the sweep, the best of the first objective first.",
        pareto.best_points,
        ("gpu_cycles",),
        axes=1,
        objectives=1,
        on_request=True,
    ),
    FigureSpec(
        "pareto",
        pareto.TITLE,
        "The sweep's first two objectives against each other, and the points that none beats.",
        pareto.front,
        ("gpu_cycles",),
        axes=1,
        objectives=2,
        on_request=True,
    ),
)

FIGURES: Mapping[str, FigureSpec] = {spec.name: spec for spec in _SPECS}
