"""Points that are to run, as a manifest has them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from places import ROOT

from apuflow.configure.point import Point
from apuflow.engines.base import Inputs
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Task


@cache
def _point() -> Point:
    return replace(Campaign(ROOT).points("kernels", "softmax_fwd", "gem5-kernels")[0], workload="softmax_fwd")


def task(number: int, **changed: Any) -> Task:
    """A point with this number as its label, which takes a second."""
    first = Task(
        replace(_point(), label=f"u{number}"),
        Inputs(
            "a.json",
            data="build/inputs/mmap-4096.bin",
            objects={("MIOpenSoftmax.cl", "-DA=1"): "cachefiles/objects/gfx801/a.o"},
            others=["image.json"],
        ),
        4000,
        1.0,
    )
    return replace(first, **changed)
