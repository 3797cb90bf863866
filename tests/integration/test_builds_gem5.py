"""Two builds of one gem5 write the same statistics, line by line, but for host times.

So do forks of one, and one that keeps its lists of statistics.

APUFLOW_TEST_GEM5 and APUFLOW_TEST_OTHER_GEM5 name two binaries of the same sources, such as gem5.opt as
upstream builds it and one of the builds of `gem5.build`; APUFLOW_TEST_MIOPEN names MIOpen's src/kernels.
Minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import needs
import pytest
import real_gem5
from kernel_builds import compiled
from places import ROOT

from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.dnnmark import Direction, parse
from apuflow.engines.derived_kernels import kernel_run
from apuflow.engines.simulated import statistics_of
from apuflow.launcher.program import build_launcher
from apuflow.miopen import launches
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5
from apuflow.run.process import PointFacts, Simulation

pytestmark = pytest.mark.gem5

RELEASE = real_gem5.release()
LAYER = (
    "[DNNMark]\nrun_mode=standalone\n[FullyConnected]\nname=l\nn=20\nc=200\nh=1\nw=1\n"
    "previous_layer=null\nnum_output=100\n"
)
LAYERS: dict[str, tuple[str, Direction]] = {
    "product": (LAYER, "fwd"),
    "barriers": (
        "[DNNMark]\nrun_mode=standalone\n[BatchNorm]\nname=l\nn=5\nc=19\nh=4\nw=4\nbatchnorm_mode=spatial\n"
        "save_intermediates=true\nexp_avg_factor=0.5\nepsilon=1e-05\n",
        "fwd",
    ),
    "waits": (
        "[DNNMark]\nrun_mode=standalone\n[Softmax]\nname=l\nn=9\nc=300\nh=1\nw=1\nsoftmax_algo=accurate\n"
        "softmax_mode=channel\n",
        "bwd",
    ),
    "branches": (
        "[DNNMark]\nrun_mode=standalone\n[Pooling]\nname=l\nn=2\nc=5\nh=11\nw=11\nprevious_layer=null\n"
        "pool_mode=max\nkernel_size=3\npad=1\nstride=2\n",
        "fwd",
    ),
}
HOST = re.compile(r"^host\w+\s")


@pytest.fixture
def project() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def lines_of(simulation: Simulation) -> list[str]:
    """The lines of a run's statistics without those about the host."""
    simulate(simulation)
    lines = (simulation.run_dir / "stats.txt").read_text().splitlines()
    return [line for line in lines if not HOST.match(line)]


def simulation_of(
    gem5: Gem5, units: int, directory: Path, name: str = "run", layer: str = "product"
) -> Simulation:
    """A run of a layer."""
    text, direction = LAYERS[layer]
    gfx = real_gem5.APU
    options: dict[str, Any] = {
        "num-cpus": 3,
        "num-compute-units": units,
        "cu-per-sa": units,
        "mem-size": "1GB",
        "gfx-version": gfx,
    }
    found = launches(parse(text), direction, units)
    objects = compiled(found, gfx, Path(os.environ.get("APUFLOW_TEST_MIOPEN", directory)), directory)
    build_launcher("gcc", directory / "launcher")
    planned = kernel_run(
        found,
        gfx=gfx,
        options=options,
        launcher=directory / "launcher",
        objects=objects,
        statistics=statistics_of(RELEASE),
    )
    return Simulation(
        project=directory,
        run_dir=directory / name,
        point=PointFacts("gem5-kernels", "fc_fwd", "fwd", "p", {}, {}, options, gfx, "real"),
        gem5=gem5,
        process=planned.process,
        container=HostEngine(),
        launches=planned.launches,
        limits=Limits(wall_seconds=1800, grace_seconds=60),
    )


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("units", [4, 16])
def test_two_builds_write_the_same_statistics(units: int, layer: str, project: Path) -> None:
    other = os.environ.get("APUFLOW_TEST_OTHER_GEM5")
    first = real_gem5.gem5(RELEASE)
    if not other:
        needs.OTHER_GEM5.skip()
    if layer != "product" and "APUFLOW_TEST_MIOPEN" not in os.environ:
        needs.MIOPEN.skip()
    binary = Path(other).resolve()
    second = replace(first, binary=binary, traces=binary.suffix != ".fast")
    texts = [
        lines_of(simulation_of(gem5, units, project, name, layer))
        for name, gem5 in (("first", first), ("second", second))
    ]
    assert len(texts[0]) > 1000
    assert texts[0] == texts[1]


def test_kept_lists_of_statistics_change_no_line(project: Path) -> None:
    gem5 = real_gem5.gem5(RELEASE)
    plain = lines_of(simulation_of(gem5, 16, project, "plain"))
    assert lines_of(simulation_of(replace(gem5, quick_statistics=True), 16, project, "quick")) == plain


@pytest.mark.parametrize("quick", [False, True])
def test_forks_of_one_start_write_the_statistics_of_runs_by_themselves(quick: bool, project: Path) -> None:
    gem5 = real_gem5.gem5(RELEASE)
    alone = lines_of(simulation_of(gem5, 4, project, "alone"))
    for name in ("first", "second"):
        simulation = simulation_of(replace(gem5, quick_statistics=quick), 4, project, name)
        assert lines_of(replace(simulation, shared_start=project / "started")) == alone
    assert len(list((project / "started").glob("*/*"))) == 1
