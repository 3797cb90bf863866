"""What the preview says of points over time: launches one after the other, and the terms of each as tracks.

The model has no time line of its own: each term begins with its launch, and ends as long after it as it takes
alone. Terms overlap in the model; the launch's own span is their time together, corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.preview import RELEASE
from apuflow.preview.evaluate import collect
from apuflow.preview.timing import Terms, times_of
from apuflow.results.trace_events import Span, Trace

TERMS = {
    "start": "start: code and first instructions",
    "computed": "computing",
    "loading": "loading over link or DRAM",
    "storing": "storing over link or DRAM",
    "walks": "page walks",
    "line": "stores to one line",
}
"""The terms that have a track, and its name."""
_TICKS_PER_NS = 1000.0


def preview_trace(points: Sequence[Point]) -> Trace:
    """The trace of points, a process each.

    Raises:
        NotModelled: the preview refuses a point.
    """
    trace = Trace()
    for point in points:
        _add_point(trace, point)
    return trace


def _add_point(trace: Trace, point: Point) -> None:
    batch = collect([point], option_rules.defaults(RELEASE))
    found = times_of(batch.pairs)
    names = batch.launched.map(lambda launch: launch.kernel).list()
    process = trace.process(f"model (preview, not gem5): {point.workload} {point.id}")
    kernels: list[Span] = []
    tracks: dict[str, list[Span]] = {name: [] for name in TERMS}
    at = 0.0
    for pair, times in zip(batch.pair.tolist(), batch.times.tolist(), strict=True):
        terms = {each.name: float(getattr(found.terms, each.name)[pair]) for each in fields(Terms)}
        took = float(found.ns[pair]) * times * _TICKS_PER_NS
        details = {"launches": times, "limit": found.bound[pair], "correction": float(found.factor[pair])}
        kernels.append(Span(names[pair], at, at + took, details))
        for name, spans in tracks.items():
            length = terms[name] * times * _TICKS_PER_NS
            if length > 0:
                spans.append(Span(names[pair], at, at + min(length, took), {"ns": terms[name] * times}))
        at += took
    trace.track(process, "model: kernels", kernels)
    for name, spans in tracks.items():
        if spans:
            trace.track(process, f"model: {TERMS[name]}", spans)
