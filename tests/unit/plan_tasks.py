"""Points that are to run, as a manifest has them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from places import ROOT

from apuflow.configure.point import Point
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Task


@cache
def _point() -> Point:
    return replace(Campaign(ROOT).points("kernels", "softmax_fwd", "gem5-kernels")[0], workload="softmax_fwd")


def task(number: int, **changed: Any) -> Task:
    """A point with this number as its label, which takes a second."""
    inputs: dict[str, list[str]] = {name: [] for name in ("objects", "database", "data", "table", "launcher")}
    first = Task(
        replace(_point(), label=f"u{number}"),
        {"tools": ["a.json"], **inputs, "data": ["build/inputs/mmap-4096.bin"]},
        {("MIOpenSoftmax.cl", "-DA=1"): "cachefiles/objects/gfx801/a.o"},
        4000,
        15,
        1.0,
    )
    return replace(first, **changed)
