"""``apuflow correlate``: the preview on a machine, and tables of a sweep, beside measured times."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.correlate import tables
from apuflow.miopen.compiler import Compiler

TIMES = """workload,parameters,time_us
silicon_vectoradd,n=1024,4.6
silicon_vectoradd,n=16384,5.5
silicon_vectoradd,n=4194304,16.4
silicon_vectoradd,n=536870912,2838.1
silicon_conv2d,size=8 mask=3,9.7
"""


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    Path("times.csv").write_text(TIMES)


def correlate(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), ["correlate", "--measured", "times.csv", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_preview_beside_measured_times(clang: Compiler) -> None:
    """4,194,304 sums take 65,536 wavefronts, more than 20,000 instructions; 536,870,912 take 6 GiB.

    conv2d launches twice: 9.7 us less the shortest single launch, 4.6 us, are more than another one.
    """
    told = correlate("mi300a-like", "--budget", "0.02")
    assert "modelled: 3 measurements, second runs" in told
    assert "4.60 us (shortest single launch), 4.60 us for each launch after it" in told
    assert (
        "left out: 1 measurement: it executes more" in told and "left out: 1 measurement: its buffers" in told
    )
    table = pd.read_csv("results/correlate/mi300a-like-preview.csv")
    assert table["measured_us"].round(6).tolist() == [4.6, 5.5, 9.7] and list(table["launches"]) == [1, 1, 2]
    assert table["overhead_us"].round(6).tolist() == [4.6, 4.6, 9.2]
    assert (
        table["bytes"][0] == 3 * 4 * 1024 and table["lane_operations"][1] == 16 * table["lane_operations"][0]
    )
    assert table["modelled_us"].between(0.1, 20).all()
    assert Path("results/correlate/mi300a-like-preview.svg").is_file()
    errors = pd.read_csv("results/correlate/mi300a-like-preview-errors.csv").set_index("part")
    wmape = (table["modelled_us"] - table["measured_us"]).abs().sum() / 19.8
    assert errors.loc["all", "wmape"] == pytest.approx(wmape)


def test_rows_of_a_sweep_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,100 cycles at 2,100 MHz are 1 us."""
    Path("configs/sweeps/mine.yaml").write_text(
        "description: x\nengines: [gem5-kernels]\nrelease: v24.1\nmachine: mi300x-like\n"
        "workloads: [silicon_vectoradd]\naxes: {layer: {n: [1024, 2048]}}\n"
    )
    with pytest.raises(ConfigError, match=r"no row of engine gem5-kernels[\s\S]*results/mine/report.html"):
        correlate("mine")

    text = Path("configs/sweeps/mine.yaml").read_text()
    Path("configs/sweeps/varied.yaml").write_text(
        text.replace("axes: {", "axes: {num-compute-units: [4, 8], ")
    )
    with pytest.raises(ConfigError, match="of several machines"):
        correlate("varied")

    class AnyRow(dict[str, object]):
        def get(self, key: object, default: object = None) -> object:
            return {"gpu_cycles": 2100.0, "bound": "dram", "valu_thread_cycles": 64.0}

    monkeypatch.setattr(tables, "rows_of", lambda *_: AnyRow())
    assert "modelled: 1 measurement, first runs" in correlate("mine")
    [row] = json.loads(correlate("mine", "--json"))
    assert row["place"] == "mine" and row["kernel"] == "silicon_vectoradd"
    table = pd.read_csv("results/correlate/mine-gem5-kernels.csv")
    assert table["modelled_us"].tolist() == [pytest.approx(1.0)] and table["limit"].tolist() == ["launch"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mi300-like",), r"neither a machine nor a sweep[\s\S]*mi300[ax]-like"),
        (
            ("mi300a-like", "--engine", "gem5-kernels"),
            r"runs points of a sweep[\s\S]*SWEEP --engine gem5-kernels",
        ),
        (("mi300a-like", "--engine", "gem6"), "no such engine"),
        (("mi300a-like", "--release", "v23.0"), r"cannot run this value[\s\S]*gfx942"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(ApuflowError, match=said):
        correlate(*arguments)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("silicon_vectorad,n=1024,4.6", "no workload of this name"),
        ("silicon_vectoradd,m=1024,4.6", r"not a parameter of this workload[\s\S]*its parameters: n"),
        ("softmax_fwd,n=1024,4.6", "n"),
    ],
)
def test_rows_without_a_workload_are_named(row: str, said: str) -> None:
    Path("times.csv").write_text(f"workload,parameters,time_us\n{row}\n")
    with pytest.raises(ConfigError, match=said):
        correlate("mi300a-like")
