"""The preview on machines with several TCCs and directories, where the DRAM of one hides nothing.

Sweeps over compute units, kernel by kernel, on gem5 v24.0.0.1, gfx902 (``data/gem5_runs/wide.csv``).
"""

from __future__ import annotations

import pandas as pd
import pytest
from places import ROOT

from apuflow.study.score import read_tables, score

FOUR = {"num_tccs": "4", "num_dirs": "4"}


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    found = score(read_tables([ROOT / "data/gem5_runs/wide.csv"]))
    assert not found.refused and len(found.frame) == 350
    return found.frame


def of_four(runs: pd.DataFrame, primitive: str) -> pd.DataFrame:
    """Runs of a primitive on four TCCs and directories."""
    chosen = runs[(runs["primitive"] == primitive) & (runs[list(FOUR)] == list(FOUR.values())).all(axis=1)]
    assert len(chosen) > 0
    return chosen


@pytest.mark.parametrize(
    ("primitive", "before", "now"),
    [
        ("activation_fwd", 0.100, 0.09),
        ("bn_fwd", 0.266, 0.19),
        ("lrn_fwd", 0.152, 0.15),
        ("lrn_bwd", 0.204, 0.18),
        ("pool_bwd", 0.106, 0.09),
        ("softmax_fwd", 0.141, 0.06),
        ("softmax_bwd", 0.116, 0.09),
    ],
)
def test_sweeps_are_nearer_than_by_the_version_that_had_one_directory_in_view(
    runs: pd.DataFrame, primitive: str, before: float, now: float
) -> None:
    """Mean errors; ``before``: of version 32, to be read beside."""
    assert now < before
    assert runs.loc[runs["primitive"] == primitive, "error"].abs().mean() < now


def cycles_by_mode(runs: pd.DataFrame, column: str) -> dict[str, float]:
    """Of forward activations of 21x8x31x31 on 51 units."""
    rows = of_four(runs, "activation_fwd")
    rows = rows[(rows["num_compute_units"].astype(int) == 51) & rows["config"].str.contains("n=21\n")]
    modes = rows["config"].str.extract(r"activation_mode=(\w+)")[0]
    return dict(zip(modes, rows[column].astype(float), strict=True))


def test_a_short_function_stores_while_others_load_and_a_long_one_does_not(runs: pd.DataFrame) -> None:
    measured, model = (cycles_by_mode(runs, column) for column in ("gpu_cycles", "predicted"))
    assert set(measured) == {"relu", "sigmoid", "tanh", "soft_relu"}
    for mode in ("sigmoid", "tanh", "soft_relu"):
        assert measured[mode] > 1.3 * measured["relu"]
        assert model[mode] > 1.3 * model["relu"]
        assert model[mode] == pytest.approx(measured[mode], rel=0.08)
    assert model["relu"] == pytest.approx(measured["relu"], rel=0.16)


def test_more_units_make_softmax_backward_slower_as_its_first_batch_is_all(runs: pd.DataFrame) -> None:
    rows = of_four(runs, "softmax_bwd")
    rows = rows[rows["config"].str.contains("c=58\n")]
    rows = rows.set_index(rows["num_compute_units"].astype(int))
    for column in ("gpu_cycles", "predicted"):
        cycles = rows[column].astype(float)
        assert cycles[48] > 1.25 * cycles[3]
        assert cycles[12] > 1.05 * cycles[7] > 1.1 * cycles[3]


def test_coalescer_tokens_do_not_bound_batch_normalisation_whose_units_share_pages(
    runs: pd.DataFrame,
) -> None:
    rows = of_four(runs, "bn_fwd")
    rows = rows[(rows["max_cu_tokens"] != "4") & (rows["num_compute_units"].astype(int) == 30)]
    assert set(rows["max_cu_tokens"]) == {"1", "2", "8", "16"}
    for _, same in rows.groupby("config"):
        for column in ("gpu_cycles", "predicted"):
            cycles = same[column].astype(float)
            assert cycles.max() < 1.1 * cycles.min()
