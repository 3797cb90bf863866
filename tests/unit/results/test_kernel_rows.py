"""Rows of kernels of a sweep."""

from __future__ import annotations

import pytest
from places import ROOT

from apuflow.configure import load_sweep, option_rules
from apuflow.plan.campaign import Campaign
from apuflow.preview import run
from apuflow.results.kernels import kernel_rows
from apuflow_analysis import figures


@pytest.fixture
def campaign() -> Campaign:
    return Campaign(ROOT)


def test_kernel_rows_add_up_to_their_points(campaign: Campaign) -> None:
    sweep = load_sweep("quickstart", ROOT).model_copy(update={"workloads": ("conv_fwd", "softmax_fwd")})
    rows = kernel_rows(campaign, sweep)
    assert rows.attrs["axes"] == ("num_compute_units",)
    for workload in ("conv_fwd", "softmax_fwd"):
        points = campaign.points("quickstart", workload, "preview")
        whole = run(points, option_rules.defaults("v23.0")).set_index("point")["gpu_cycles"]
        parts = rows[rows["workload"] == workload].groupby("point")["gpu_cycles"].sum()
        assert parts.to_dict() == pytest.approx({str(name): float(value) for name, value in whole.items()})
    assert rows[rows["workload"] == "conv_fwd"]["kernel"].nunique() > 1
    shares = figures.make("kernels", rows).data.groupby(["workload", "at"])["share"].sum()
    assert list(shares) == pytest.approx([1.0] * len(shares))
