"""Every operation of four networks on gem5 v23.0.1.0, on two machines, inputs in memory, beside the preview.

ResNet-152 and SqueezeNet took no part in making the timing model.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from network_runs import network_sweep

from apuflow.configure.sweep_keys import Sampling
from apuflow.plan.campaign import Campaign
from apuflow.sampling.suites import sample_suites


def compared(root: Path, monkeypatch: pytest.MonkeyPatch, network: str, units: int) -> pd.Series:
    """The preview's cycles of each operation over gem5's."""
    rows = network_sweep(root, network, units)
    monkeypatch.chdir(root)
    campaign = Campaign(root)
    [one] = sample_suites(campaign, campaign.load("net"), Sampling())
    predicted = one.members.set_index("operation")["predicted"]
    return (predicted / rows.groupby("operation")["gpu_cycles"].sum()).rename(network)


@pytest.mark.parametrize("units", [4, 16])
@pytest.mark.parametrize("network", ["resnet18", "mobilenet_v2", "squeezenet1_1", "resnet152"])
def test_operations_take_the_cycles_that_gem5_took(
    root: Path, monkeypatch: pytest.MonkeyPatch, network: str, units: int
) -> None:
    """The goals of the timing model are 10 and 25 %."""
    errors = (compared(root, monkeypatch, network, units) - 1.0).abs()
    assert errors.notna().all()
    assert errors.median() <= 0.12 and errors.quantile(0.9) <= 0.29
