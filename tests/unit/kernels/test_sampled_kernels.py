"""Samples and small suites of networks whose operators run by workloads of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.core.errors import ConfigError
from apuflow.miopen.compiler import Compiler
from apuflow.plan.campaign import Campaign
from apuflow.sampling import suites as sampled_suites
from apuflow.sampling.runs import Ran
from apuflow.statsnet.make import Request, make, write
from apuflow.statsnet.profile import operations

KERNEL = """kernel void gate(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i] / (1 + fabs(x[i]));
}
"""
WORKLOAD = """description: a gate
kind: kernels
source: kernels/gate.cl
parameters: {type: float, elements: 1024}
buffers:
  x: {type: float, elements: elements, contents: uniform}
  y: {type: float, elements: elements, contents: touch}
launches:
  - {kernel: gate, grid: ["ceil(elements, 64) * 64"], workgroup: [64], arguments: [x, y, elements]}
"""
TABLE = "name,op,sizes,repeats,params,cache,type\n" + "".join(
    f"gate_{size},gate,elements={size},{repeats},,,\nnorm_{size},layernorm,rows={size // 64} width=64,,,,\n"
    for size, repeats in ((512, 1), (2048, 3), (8192, 2))
)
SUITE = "{description: x, kind: operators, table: gates, source: x, kernels: {gate: my_gate}}"
SWEEP = """description: a test
engines: [gem5-kernels, preview]
suites: [gates]
sampling: {bound: 0.1, budget: 1, audit: 0}
"""


@pytest.fixture
def project(root: Path, clang: Compiler, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "configs/workloads/kernels/gate.cl").write_text(KERNEL)
    (root / "configs/workloads/my_gate.yaml").write_text(WORKLOAD)
    (root / "configs/networks/gates.csv").write_text(TABLE)
    (root / "configs/suites/gates.yaml").write_text(SUITE)
    (root / "configs/sweeps/net.yaml").write_text(SWEEP)
    monkeypatch.chdir(root)
    return root


def test_a_sample_estimates_kernels_from_other_sizes_of_them(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where gem5 takes 1.3 times what the preview says, what was not run is expected near that."""
    ran: dict[str, float] = {}
    monkeypatch.setattr(
        sampled_suites, "read_ran", lambda point, *_: Ran((ran[point.id],)) if point.id in ran else None
    )
    campaign = Campaign(project)
    sweep = campaign.load("net")
    assert sweep.sampling is not None
    [before] = sampled_suites.sample_suites(campaign, sweep, sweep.sampling)
    gates = before.members[before.members["kernels"] == "gate"]
    assert sorted(gates["repeats"]) == [1, 2, 3]
    largest = str(gates["predicted"].idxmax())
    ran |= {str(name): 1.3 * value for name, value in before.members["predicted"].items() if name != largest}
    [after] = sampled_suites.sample_suites(campaign, sweep, sweep.sampling)
    left = after.members.loc[largest]
    assert left["origin"] == "estimated"
    assert left["low"] < 1.3 * left["predicted"] < left["high"]
    assert abs(left["cycles"] / left["predicted"] - 1.3) < abs(1 - 1.3)
    assert after.estimate.relative < before.estimate.relative


def test_a_statsnet_of_kernels_runs_them_again(project: Path) -> None:
    made = make(Request(("gates",), (), 6), project)
    assert made.holds
    write("mine", made, "apuflow statsnet mine --of gates", project)
    again = operations(["mine"], [], project)
    assert set(again.points) == set(made.operations.points)
    assert {each.id for each in again.points.values()} == {
        each.id for each in made.operations.points.values()
    }
    assert again.weights.to_dict() == made.mix.repeats.to_dict()


def test_an_operation_of_a_list_that_nobody_has_is_named(project: Path) -> None:
    table = project / "configs/suites/mine.csv"
    table.write_text(
        "operation,op,phase,repeats,flop,name\nmy_gat fwd elements=64 type=float,gate,forward,1,0,a\n"
    )
    (project / "configs/suites/mine.yaml").write_text(
        "{description: x, kind: operations, table: mine, source: x}"
    )
    with pytest.raises(ConfigError, match="no operation and no workload of kernels") as caught:
        operations(["mine"], [], project)
    assert "my_gate" in str(caught.value)
