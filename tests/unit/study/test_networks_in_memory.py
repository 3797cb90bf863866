"""Every operation of four networks on gem5 v23.0.1.0, on two machines, inputs in memory, beside the preview.

The model was made with ResNet-18 and MobileNetV2 in view; ResNet-152 and SqueezeNet judge it. The bounds are
those that docs/preview.md states, a little wider.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweep_texts import write_suite_sweep

from apuflow.campaign.campaign import Campaign
from apuflow.configure.sampling import Sampling
from apuflow.study.sampled_suites import sample_suites

FILE = Path(__file__).parents[2] / "data/networks_in_memory_gem5.csv"


def compared(root: Path, monkeypatch: pytest.MonkeyPatch, network: str, image: int, units: int) -> pd.Series:
    """The preview's cycles of each operation over gem5's."""
    write_suite_sweep(
        root,
        network,
        layer={"n": 1, "image": image},
        options={"num-compute-units": units},
        inputs="memory",
    )
    monkeypatch.chdir(root)
    campaign = Campaign(root)
    predicted = sample_suites(campaign, campaign.load("net"), Sampling())[0].members.set_index("operation")[
        "predicted"
    ]
    rows = pd.read_csv(FILE)
    rows = rows[(rows["network"] == network) & (rows["compute_units"] == units)]
    return (predicted / rows.groupby("operation")["gpu_cycles"].sum()).rename(network)


@pytest.mark.parametrize(
    ("network", "image", "units", "median", "ninth"),
    [
        ("resnet18", 32, 4, 0.04, 0.12),
        ("resnet18", 32, 16, 0.06, 0.18),
        ("mobilenet_v2", 32, 4, 0.06, 0.17),
        ("mobilenet_v2", 32, 16, 0.07, 0.19),
        ("squeezenet1_1", 64, 4, 0.06, 0.16),
        ("squeezenet1_1", 64, 16, 0.08, 0.17),
        ("resnet152", 32, 4, 0.05, 0.17),
        ("resnet152", 32, 16, 0.07, 0.19),
    ],
)
def test_operations_take_the_cycles_that_gem5_took(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    network: str,
    image: int,
    units: int,
    median: float,
    ninth: float,
) -> None:
    errors = (compared(root, monkeypatch, network, image, units) - 1.0).abs()
    assert errors.notna().all()
    assert errors.median() <= median
    assert np.quantile(errors, 0.9) <= ninth


def test_small_products_of_a_batch_share_pages(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depthwise convolutions forward: a product of 9 weights for each channel, 960 of them on 8 pages."""
    ratios = compared(root, monkeypatch, "mobilenet_v2", 32, 4)
    depthwise = ratios[ratios.index.str.contains("convolution fwd .* groups=")]
    assert len(depthwise) >= 8
    assert depthwise.between(0.75, 1.3).all()


def test_channels_write_their_statistics_to_one_line_in_turn(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch normalisation forward of 1x1 and 2x2 planes: gem5 takes 357 to 372 cycles for each channel."""
    ratios = compared(root, monkeypatch, "mobilenet_v2", 32, 4)
    small = ratios[ratios.index.str.contains("BatchNorm fwd .* h=[12] ")]
    assert len(small) >= 8
    assert small.between(0.9, 1.1).all()
