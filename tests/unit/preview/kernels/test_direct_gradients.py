"""Gradients of direct convolutions beside runs of gem5 v23.0.1.0, one kernel each (``direct_gradients.csv``).

``held_out`` runs took no part in choosing the model's forms and constants.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from apuflow import operations
from apuflow.configure import option_rules
from apuflow.core.errors import NotModelled
from apuflow.miopen import Launch
from apuflow.operations import direct_weights
from apuflow.operations.convolution import Convolution
from apuflow.preview.counters import counter_columns
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.machine import machine
from apuflow.preview.step import alone
from apuflow.preview.timing import times

RUNS = Path(__file__).parents[3] / "data" / "direct_gradients.csv"
PRIVATE = {"kernel_h": 11, "stride": 2}
"""A shape whose sums lie in private memory."""


@lru_cache(maxsize=1)
def recorded() -> pd.DataFrame:
    return pd.read_csv(RUNS)


def convolution_of(row: pd.Series) -> operations.Operation:
    keys = ("n", "c", "h", "w", "num_output", "kernel_h", "kernel_w", "pad_h", "pad_w", "groups")
    shape: dict[str, bool | int | float | str] = {key: int(row[key]) for key in keys}
    shape |= {"stride_h": int(row["stride"]), "stride_w": int(row["stride"])}
    shape |= {"propagation": bool(row["propagation"]), "algorithm": "direct"}
    return operations.make("convolution", shape)


def launch_of(row: pd.Series) -> Launch:
    return convolution_of(row).launches("bwd", 4)[int(row["launch"])]


def refused(row: pd.Series) -> bool:
    return bool(row["kernel"] == "MIOpenCvBwdWrW" and all(row[key] == PRIVATE[key] for key in PRIVATE))


@lru_cache(maxsize=1)
def compared() -> pd.DataFrame:
    """Each run that the preview models: gem5's counters, and the preview's behind ``preview_``."""
    defaults = option_rules.defaults("v23.0")
    rows = recorded()[[not refused(row) for _, row in recorded().iterrows()]].reset_index(drop=True)
    made = [alone(profile(facts_of(launch_of(row), vega=False))) for _, row in rows.iterrows()]
    machines = [
        machine({"num-compute-units": int(units), "cu-per-sa": int(units)}, defaults)
        for units in rows["units"]
    ]
    found = pd.DataFrame(counter_columns(times(made, machines)))
    return pd.concat([rows, found.add_prefix("preview_")], axis=1)


def errors(counter: str, rows: pd.DataFrame) -> np.ndarray:
    return (rows[f"preview_{counter}"] / rows[counter] - 1.0).abs().to_numpy(dtype=float)


def test_every_kernel_was_run_and_held_out() -> None:
    assert set(recorded()["kernel"]) == {
        *("MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConvUni", "MIOpenConv1x1", "MIOpenConv1x1pquv"),
        *("MIOpenCvBwdWrW_8x8map", "MIOpenCvBwdWrW_16x16map", "SubSample"),
    }
    assert set(recorded()["kernel"]) == set(recorded()[recorded()["held_out"] == 1]["kernel"])


def test_instructions() -> None:
    found = errors("instructions", compared())
    assert np.median(found) < 0.04
    assert np.percentile(found, 90) < 0.10
    assert found.max() < 0.20


@pytest.mark.parametrize("counter", ["vector_memory_insts", "lds_insts"])
def test_memory_instructions(counter: str) -> None:
    rows = compared()[compared()[counter] > 0]
    assert np.median(errors(counter, rows)) < 0.02
    assert errors(counter, rows).max() < 0.11


def test_bank_conflicts() -> None:
    rows = compared()[compared()["lds_bank_conflicts"] > 5000]
    assert np.median(errors("lds_bank_conflicts", rows)) < 0.03


def test_cycles_of_shapes_that_were_held_out() -> None:
    found = errors("gpu_cycles", compared()[compared()["held_out"] == 1])
    assert np.median(found) < 0.12
    assert np.percentile(found, 90) < 0.22


def test_sums_in_private_memory_are_refused() -> None:
    rows = [row for _, row in recorded().iterrows() if refused(row)]
    assert rows
    for row in rows:
        with pytest.raises(NotModelled, match="private memory"):
            profile(facts_of(launch_of(row), vega=False))


def test_suites_know_what_the_preview_refuses() -> None:
    """``direct_weights.spills`` reckons from the shape what the model reads from the compile arguments."""
    for _, row in recorded()[recorded()["kernel"] == "MIOpenCvBwdWrW"].iterrows():
        made = convolution_of(row)
        assert isinstance(made, Convolution)
        assert direct_weights.spills(made) == refused(row)
