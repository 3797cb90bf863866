"""The launcher on a real gem5: APUFLOW_TEST_GEM5=.../build/GCN3_X86/gem5.opt, inside its sources.

MIOpen's kernels are run where APUFLOW_TEST_MIOPEN names its src/kernels; else only the stand-in for rocBLAS.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from apuflow.containers import get_engine
from apuflow.dnnmark import parse
from apuflow.gem5.command import Gem5
from apuflow.gem5.simulate import simulate
from apuflow.gem5.simulation import Asked, Simulation
from apuflow.launcher import build_launcher
from apuflow.launcher.engine import build_kernel_objects, kernel_objects, kernel_run
from apuflow.launcher.plan import guest_runs, kernel_sources
from apuflow.launcher.reference import TOLERANCE, difference, expected_outputs
from apuflow.miopen import launches
from apuflow.miopen.compiler import host_compiler
from apuflow.mmapfile import write_mmap

pytestmark = pytest.mark.gem5

ROOT = Path(__file__).resolve().parents[2]
HEAD = "[DNNMark]\nrun_mode=standalone\n"


@pytest.fixture
def gem5() -> Gem5:
    named = os.environ.get("APUFLOW_TEST_GEM5")
    if not named:
        pytest.skip("APUFLOW_TEST_GEM5 does not name a gem5.opt")
    binary = Path(named).resolve()
    return Gem5(binary=binary, script=binary.parents[2] / "configs" / "example" / "apu_se.py")


@pytest.fixture
def visible() -> Iterator[Path]:
    """A directory that a guest can see: not below /tmp."""
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    yield directory
    shutil.rmtree(directory)


CASES = {
    "softmax": f"{HEAD}[Softmax]\nname=l\nn=12\nc=300\nh=1\nw=1\nprevious_layer=null\n",
    "fc": f"{HEAD}[FullyConnected]\nname=l\nn=5\nc=70\nh=1\nw=1\nprevious_layer=null\nnum_output=33\n",
    "conv": f"{HEAD}[Convolution]\nname=l\nn=2\nc=3\nh=10\nw=9\nprevious_layer=null\n"
    "conv_mode=cross_correlation\nnum_output=4\nkernel_size=3\npad=1\nstride=2\n",
}


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_says(
    name: str, direction: Literal["fwd", "bwd"], gem5: Gem5, visible: Path
) -> None:
    kernels = Path(os.environ.get("APUFLOW_TEST_MIOPEN", "/nonexistent"))
    found = launches(parse(CASES[name]), direction, 4)
    if not kernels.is_dir() and any(launch.gemm is None for launch in found):
        pytest.skip("APUFLOW_TEST_MIOPEN does not name MIOpen's src/kernels")
    compiler = host_compiler(code_object=4)
    objects = kernel_objects(found, "gfx801", compiler, kernels)
    build_kernel_objects(objects.values(), compiler, kernels, visible)
    paths = {row: item.path(visible).resolve() for row, item in objects.items()}
    launcher, data = visible / "launcher", visible / "mmap.bin"
    build_launcher("gcc", launcher)
    write_mmap(data, 1 << 20)
    options = {
        "num-cpus": 3,
        "num-compute-units": 4,
        "cu-per-sa": 4,
        "mem-size": "1GB",
        "gfx-version": "gfx801",
    }
    planned = kernel_run(
        found, gfx="gfx801", options=options, launcher=launcher, objects=paths, data=data, outputs=True
    )
    asked = Asked("gem5-kernels", name, direction, "p", {}, {}, options, "gfx801", "v23.0.1.0")
    record = simulate(
        Simulation(
            project=visible,
            run_dir=visible / "run",
            asked=asked,
            gem5=gem5,
            processes=planned.processes,
            container=get_engine("host"),
            image=None,
            launches=planned.launches,
        )
    )
    assert record.status == "completed"
    blocks = (visible / "run" / "stats.txt").read_text().split("---------- Begin Simulation Statistics")[1:]
    assert len(blocks) == len(planned.launches) + 1
    for block in blocks[:-1]:
        [kernels_launched] = [line for line in block.splitlines() if "numKernelLaunched" in line]
        assert kernels_launched.split()[1] == "1"

    [run] = guest_runs(
        found,
        device="gfx801",
        launcher=launcher,
        objects=dict.fromkeys(kernel_sources(found), Path("x")),
        directory=visible / "run" / "attempts" / "1",
        data=data,
        data_bytes=data.stat().st_size,
        together=True,
        outputs=True,
    )
    expected = expected_outputs(run, np.fromfile(data, np.uint8))
    for output in run.outputs:
        left = np.fromfile(output.path, np.float32, output.elements)
        assert difference(output.buffer, left, expected[output.buffer]).error <= TOLERANCE
