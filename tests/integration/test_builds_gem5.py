"""Two builds of one gem5 write the same statistics, line by line, but for host times.

APUFLOW_TEST_GEM5 and APUFLOW_TEST_OTHER_GEM5 name two binaries of the same sources, such as gem5.opt as
upstream builds it and one of the builds of `gem5.build`. Minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import needs
import pytest
from kernel_builds import compiled
from places import ROOT

from apuflow.containers import HostEngine, Limits
from apuflow.dnnmark import parse
from apuflow.engines.gem5_kernels import kernel_run
from apuflow.launcher import build_launcher
from apuflow.miopen import launches
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5
from apuflow.run.process import PointFacts, Simulation

pytestmark = pytest.mark.gem5

LAYER = (
    "[DNNMark]\nrun_mode=standalone\n[FullyConnected]\nname=l\nn=20\nc=200\nh=1\nw=1\n"
    "previous_layer=null\nnum_output=100\n"
)
HOST = re.compile(r"^host\w+\s")


def statistics(binary: Path, units: int) -> list[str]:
    """The lines of a run's statistics without those about the host."""
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    try:
        options: dict[str, Any] = {
            "num-cpus": 3,
            "num-compute-units": units,
            "cu-per-sa": units,
            "mem-size": "1GB",
            "gfx-version": "gfx801",
        }
        found = launches(parse(LAYER), "fwd", units)
        objects = compiled(found, "gfx801", directory, directory)
        build_launcher("gcc", directory / "launcher")
        planned = kernel_run(
            found, gfx="gfx801", options=options, launcher=directory / "launcher", objects=objects
        )
        script = next(
            place / "configs/example/apu_se.py"
            for place in binary.parents
            if (place / "configs/example/apu_se.py").is_file()
        )
        simulate(
            Simulation(
                project=directory,
                run_dir=directory / "run",
                point=PointFacts("gem5-kernels", "fc_fwd", "fwd", "p", {}, {}, options, "gfx801", "real"),
                gem5=Gem5(binary, script, traces=binary.suffix != ".fast"),
                processes=(planned.process,),
                container=HostEngine(),
                launches=planned.launches,
                limits=Limits(wall_seconds=1800, grace_seconds=60),
            )
        )
        lines = (directory / "run/stats.txt").read_text().splitlines()
        return [line for line in lines if not HOST.match(line)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("units", [4, 16])
def test_two_builds_write_the_same_statistics(units: int) -> None:
    ours, other = (os.environ.get(name) for name in ("APUFLOW_TEST_GEM5", "APUFLOW_TEST_OTHER_GEM5"))
    if not ours:
        needs.GEM5.skip()
    if not other:
        needs.OTHER_GEM5.skip()
    first, second = (statistics(Path(binary).resolve(), units) for binary in (ours, other))
    assert len(first) > 1000
    assert first == second
