"""Every operation of four networks on gem5 v23.0.1.0, on two machines, inputs in memory, beside the preview.

The model was made with ResNet-18 and MobileNetV2 in view; ResNet-152 and SqueezeNet judge it. The bounds are
a little wider than the errors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from network_runs import network_sweep

from apuflow.campaign.campaign import Campaign
from apuflow.configure.sampling import Sampling
from apuflow.sampling.suites import sample_suites


def compared(root: Path, monkeypatch: pytest.MonkeyPatch, network: str, units: int) -> pd.Series:
    """The preview's cycles of each operation over gem5's."""
    rows = network_sweep(root, network, units)
    monkeypatch.chdir(root)
    campaign = Campaign(root)
    [one] = sample_suites(campaign, campaign.load("net"), Sampling())
    predicted = one.members.set_index("operation")["predicted"]
    return (predicted / rows.groupby("operation")["gpu_cycles"].sum()).rename(network)


@pytest.mark.parametrize(
    ("network", "units", "median", "ninth"),
    [
        ("resnet18", 4, 0.04, 0.12),
        ("resnet18", 16, 0.062, 0.16),
        ("mobilenet_v2", 4, 0.06, 0.17),
        ("mobilenet_v2", 16, 0.07, 0.19),
        ("squeezenet1_1", 4, 0.065, 0.16),
        ("squeezenet1_1", 16, 0.08, 0.17),
        ("resnet152", 4, 0.05, 0.17),
        ("resnet152", 16, 0.07, 0.19),
    ],
)
def test_operations_take_the_cycles_that_gem5_took(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    network: str,
    units: int,
    median: float,
    ninth: float,
) -> None:
    errors = (compared(root, monkeypatch, network, units) - 1.0).abs()
    assert errors.notna().all()
    assert errors.median() <= median
    assert np.quantile(errors, 0.9) <= ninth


def test_small_products_of_a_batch_share_pages(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depthwise convolutions forward: a product of 9 weights for each channel, 960 of them on 8 pages."""
    ratios = compared(root, monkeypatch, "mobilenet_v2", 4)
    depthwise = ratios[ratios.index.str.contains("convolution fwd .* groups=")]
    assert len(depthwise) >= 8
    assert depthwise.between(0.75, 1.3).all()


def test_channels_write_their_statistics_to_one_line_in_turn(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch normalisation forward of 1x1 and 2x2 planes: gem5 takes 357 to 372 cycles for each channel."""
    ratios = compared(root, monkeypatch, "mobilenet_v2", 4)
    small = ratios[ratios.index.str.contains("BatchNorm fwd .* h=[12] ")]
    assert len(small) >= 8
    assert small.between(0.9, 1.1).all()
