"""Events of a trace in the JSON form that Perfetto and Chrome read.

Source: "Trace Event Format" (Chromium), JSON object format: complete events (``X``), counters (``C``) and
names of processes and threads (``M``); times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

TICKS_PER_US = 1e6
"""gem5's ticks are picoseconds."""


@dataclass(frozen=True)
class Span:
    """Something that took from one tick to another."""

    name: str
    began: float
    ended: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Trace:
    """The events of a trace; processes and tracks get their numbers in the order in which they are added."""

    events: list[dict[str, Any]] = field(default_factory=list)
    _processes: int = 0
    _tracks: int = 0

    def process(self, name: str) -> int:
        """A new group of tracks."""
        self._processes += 1
        self._name("process_name", name, self._processes, 0)
        self._sort("process_sort_index", self._processes, 0, self._processes)
        return self._processes

    def track(self, process: int, name: str, spans: Iterable[Span]) -> None:
        """A track with spans that do not overlap, or lie within each other."""
        self._tracks += 1
        self._name("thread_name", name, process, self._tracks)
        self._sort("thread_sort_index", process, self._tracks, self._tracks)
        for span in spans:
            at = {"ts": span.began / TICKS_PER_US, "dur": (span.ended - span.began) / TICKS_PER_US}
            place = {"ph": "X", "pid": process, "tid": self._tracks}
            self.events.append({"name": span.name, **place, **at, "args": dict(span.details)})

    def counter(self, process: int, name: str, tick: float, values: Mapping[str, float]) -> None:
        """Values that hold from this tick on; those of one name are stacked."""
        place = {"ph": "C", "pid": process, "tid": 0, "ts": tick / TICKS_PER_US}
        self.events.append({"name": name, **place, "args": dict(values)})

    def _name(self, kind: str, name: str, process: int, track: int) -> None:
        self.events.append({"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}})

    def _sort(self, kind: str, process: int, track: int, index: int) -> None:
        place = {"ph": "M", "pid": process, "tid": track}
        self.events.append({"name": kind, **place, "args": {"sort_index": index}})

    def json(self, about: Mapping[str, Any]) -> str:
        """The file's text; ``about``: what is known of the trace as a whole."""
        content = {"traceEvents": self.events, "displayTimeUnit": "ns", "otherData": dict(about)}
        return json.dumps(content, allow_nan=False, indent=None) + "\n"


def in_lanes(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans that overlap, put on as few tracks as they need; each takes the first that is free."""
    lanes: list[list[Span]] = []
    for span in sorted(spans, key=lambda one: (one.began, one.ended)):
        free = next((lane for lane in lanes if lane[-1].ended <= span.began), None)
        if free is None:
            lanes.append([span])
        else:
            free.append(span)
    return lanes
