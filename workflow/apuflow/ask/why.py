"""What a prediction of the preview is made of, in lines that add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.core.words import many
from apuflow.preview import RELEASE
from apuflow.preview.evaluate import collect
from apuflow.preview.timing import Terms, times_of
from apuflow_analysis.tables.columns import BOUNDS


def why(point: Point) -> Iterator[str]:
    """Lines about each launch of a point: its terms in GPU cycles, and how they add up.

    Raises:
        NotModelled: the preview refuses the point.
    """
    batch = collect([point], option_rules.defaults(RELEASE))
    found = times_of(batch.pairs)
    period = batch.pairs.machines.gpu_ns
    names = batch.launched.map(lambda launch: launch.kernel).list()
    profile = batch.pairs.profiles
    for pair, times in zip(batch.pair.tolist(), batch.times.tolist(), strict=True):
        cycles = {each.name: getattr(found.terms, each.name)[pair] / period[pair] for each in fields(Terms)}
        groups = many(int(profile.workgroups[pair]), "workgroup")
        waves = many(int(profile.group_waves[pair]), "wavefront")
        busiest, resident = int(batch.pairs.busiest[pair]), int(batch.pairs.resident[pair])
        yield f"{names[pair]}: {groups} of {waves}; a compute unit has {busiest}, {resident} at a time"
        yield from _lines(cycles)
        factor, total = found.factor[pair], found.ns[pair] / period[pair]
        yield _line("x correction", f"{factor:.3f}", "learned from recorded runs of gem5")
        limit = BOUNDS[found.bound[pair]].meaning
        yield _line("= prediction", total, f"limit: {limit}")
        if times > 1:
            yield _line(f"x {times:.0f} launches", total * times, "")


def _lines(cycles: Mapping[str, float]) -> Iterator[str]:
    waits, loads, stores = (f"{cycles[name]:,.0f}" for name in ("latency", "loading", "storing"))
    yield _line(
        "computing", cycles["computed"], f"a wavefront waits {waits} of it for loads, stores and pages"
    )
    yield _line("memory", cycles["phases"], f"the link or DRAM: {loads} for loads, {stores} for stores")
    yield _line("page walks", cycles["walks"], "one after the other")
    if cycles["line"]:
        yield _line("one line", cycles["line"], "stores to it, one after the other")
    yield _line("together", cycles["core"] - cycles["start"], "the lines above, which overlap")
    yield _line("+ start", cycles["start"], f"{cycles['fetch']:,.0f} of it for code")


def _line(name: str, value: float | str, text: str) -> str:
    number = value if isinstance(value, str) else f"{value:,.0f}"
    return f"  {name:<18}{number:>14}  {text}".rstrip()
