"""The preview on machines with several TCCs and directories, where the DRAM of one hides nothing.

Sweeps over compute units, kernel by kernel, on gem5 v24.0.0.1, gfx902 (``data/gem5_runs/wide.csv``), and over
one thing at a time (``scaling.csv``).
"""

from __future__ import annotations

import pandas as pd
import pytest
from places import ROOT

from apuflow.score.errors import read_tables, score

FOUR = {"num_tccs": "4", "num_dirs": "4"}


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    found = score(read_tables([ROOT / "data/gem5_runs/wide.csv"]))
    assert not found.refused and len(found.frame) == 350
    return found.frame


@pytest.fixture(scope="module")
def scaled() -> pd.DataFrame:
    """One thing at a time, all on four TCCs and directories."""
    found = score(read_tables([ROOT / "data/gem5_runs/scaling.csv"]))
    assert not found.refused and len(found.frame) == 216
    return found.frame.astype({"gpu_cycles": float, "num_compute_units": int})


def by_size(rows: pd.DataFrame, key: str, **fixed: int) -> pd.DataFrame:
    """Cycles measured and predicted by one size of the layer, its other sizes as ``fixed``."""
    for name, value in fixed.items():
        rows = rows[rows["config"].str.contains(rf"\n{name}={value}\n")]
    sizes = rows["config"].str.extract(rf"\n{key}=(\d+)\n")[0].astype(int)
    return rows.set_index(sizes)[["gpu_cycles", "predicted"]].sort_index()


def of_four(runs: pd.DataFrame, primitive: str) -> pd.DataFrame:
    """Runs of a primitive on four TCCs and directories."""
    chosen = runs[(runs["primitive"] == primitive) & (runs[list(FOUR)] == list(FOUR.values())).all(axis=1)]
    assert len(chosen) > 0
    return chosen


@pytest.mark.parametrize(
    ("table", "primitive", "before", "now"),
    [
        ("runs", "activation_fwd", 0.100, 0.09),
        ("runs", "bn_fwd", 0.266, 0.19),
        ("runs", "lrn_fwd", 0.152, 0.15),
        ("runs", "lrn_bwd", 0.204, 0.18),
        ("runs", "pool_bwd", 0.106, 0.09),
        ("runs", "softmax_fwd", 0.141, 0.06),
        ("runs", "softmax_bwd", 0.116, 0.09),
        ("scaled", "softmax_fwd", 0.096, 0.07),
        ("scaled", "softmax_bwd", 0.111, 0.085),
        ("scaled", "lrn_bwd", 0.061, 0.045),
        ("scaled", "bn_fwd", 0.118, 0.11),
        ("scaled", "pool_bwd", 0.062, 0.06),
    ],
)
def test_sweeps_are_nearer_than_by_the_version_before(
    request: pytest.FixtureRequest, table: str, primitive: str, before: float, now: float
) -> None:
    """Mean errors; ``before``: of version 32 (``runs``) and 33 (``scaled``), to be read beside."""
    assert now < before
    rows: pd.DataFrame = request.getfixturevalue(table)
    assert rows.loc[rows["primitive"] == primitive, "error"].abs().mean() < now


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


def test_wavefronts_of_lrn_backward_delay_one_another_though_a_unit_could_do_more(
    scaled: pd.DataFrame,
) -> None:
    """One to six wavefronts of 7x7 planes on each of four units."""
    rows = scaled[(scaled["sweep"] == "n_lb") & (scaled["primitive"] == "lrn_bwd")]
    cycles = by_size(rows, "n", h=7)
    assert list(cycles.index) == [4, 8, 12, 16, 24]
    growth = cycles / cycles.loc[4]
    assert (growth.loc[24] > [1.6, 1.35]).all()
    assert growth["predicted"].is_monotonic_increasing


def test_batches_of_max_pooling_backward_take_what_one_takes(scaled: pd.DataFrame) -> None:
    """Of 13x13 planes on four units, each of which holds 40 of 135 workgroups at a time."""
    batch = by_size(scaled[(scaled["sweep"] == "q_mx") & (scaled["num_compute_units"] == 4)], "n").loc[8]
    whole = by_size(scaled[scaled["sweep"] == "p_mx"], "n").loc[27]
    start = 24_000.0  # cold code
    assert ((whole - start) / (batch - start) > [3.375, 2.7]).all()


def test_four_units_walk_pages_of_batch_normalisation_nearly_one_at_a_time(scaled: pd.DataFrame) -> None:
    """Per activation, 108 channels of 13x13: 322 pages at 973 cycles each; version 33 was 44 % off."""
    rows = scaled[scaled["config"].str.contains("per_activation") & (scaled["sweep"] == "n_bf")]
    (cycles,) = by_size(rows, "c", h=13).loc[[108]].to_numpy()
    assert 322 * 973 / cycles[0] < 1.4
    assert cycles[1] == pytest.approx(cycles[0], rel=0.1)


def test_softmax_of_two_buffers_computes_and_walks_one_after_the_other(scaled: pd.DataFrame) -> None:
    """Backward of 60 rows of 500 channels on 2 to 20 units; version 33 was 15 to 20 % too fast."""
    rows = scaled[(scaled["sweep"] == "r_sb") & scaled["config"].str.contains("\nc=500\n")]
    rows = rows.set_index("num_compute_units")
    assert list(rows.index) == [2, 4, 9, 20]
    error = rows["predicted"] / rows["gpu_cycles"] - 1.0
    assert error.between(-0.2, 0.0).all() and error.mean() > -0.12
