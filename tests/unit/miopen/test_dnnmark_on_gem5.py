"""What DNNMark launched on gem5 v23.0.1.0 with ROCm 4.0, beside what is derived for the same layers.

``tests/data/dnnmark_gem5.jsonl``: one run a line, from gem5's own trace of dispatches (2026-11-23, GCN3_X86).
``copies``: which of its kernels are ROCm's own, by which it copies to and from a discrete GPU. Convolutions
and fully connected layers: rocBLAS itself chose the kernels, from a table of those that the layers need.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import DATA

from apuflow.dnnmark import parse
from apuflow.miopen import expand, launches
from apuflow.rocblas.call import library_launches

RUNS = [json.loads(line) for line in (DATA / "dnnmark_gem5.jsonl").read_text().splitlines()]


def _name(run: dict[str, Any]) -> str:
    return f"{run['workload']}-u{run['compute_units']}-{run['cycles'][0]}"


@pytest.mark.parametrize("run", RUNS, ids=_name)
def test_dnnmark_launches_the_kernels_that_are_derived(run: dict[str, Any]) -> None:
    named = launches(parse(run["config"]), run["direction"], run["compute_units"])
    derived = list(expand(library_launches(named, run["gfx"])))
    seen = [
        extent
        for number, extent in enumerate(zip(run["grid"], run["workgroup"], strict=True))
        if number not in run["copies"]
    ]
    assert [(list(launch.grid), list(launch.workgroup)) for launch in derived] == seen
