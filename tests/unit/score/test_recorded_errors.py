"""How far the preview's cycles may be from gem5's: one table of bounds for all recorded runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest
from places import DATA

from apuflow.core import project
from apuflow.score.errors import Scored, point_errors, read_tables, recorded, score

BOUNDS = pd.read_csv(DATA / "preview_errors.csv")
"""Tables of ``data/gem5_runs``, their points, and bounds of median and 90th percentile of errors in percent.

6 and 20 are what ``docs/preview.md`` promises; more, where machines have several directories.
"""


@cache
def scored(tables: str) -> Scored:
    place = project.recorded_runs()
    return score(read_tables([file for name in tables.split() for file in place.glob(f"{name}.csv*")]))


def errors(found: pd.DataFrame) -> pd.Series:
    """Of whole points, in percent, without signs."""
    alone = "point" not in found or found["point"].isna().any()
    return 100 * (found["error"] if alone else point_errors(found)).abs()


@pytest.mark.parametrize("row", BOUNDS.to_dict("records"), ids=lambda row: row["tables"])
def test_errors_are_within_the_bounds(row: dict[str, Any]) -> None:
    found = scored(row["tables"])
    assert not found.refused
    off = errors(found.frame)
    assert len(off) == row["points"]
    assert off.median() <= row["median"] and off.quantile(0.9) <= row["ninth"]


def test_every_table_has_its_bounds_and_each_draw_of_layers_keeps_those_of_all() -> None:
    place = project.recorded_runs()
    named = [
        file for tables in BOUNDS["tables"] for name in tables.split() for file in place.glob(f"{name}.csv*")
    ]
    assert sorted(named) == sorted({*place.glob("*.csv*")} - {place / "columns.csv"})
    assert {*recorded()} <= set(named)
    layers = scored("layers").frame
    (bound,) = BOUNDS[BOUNDS["tables"] == "layers"].to_dict("records")
    draws = [errors(draw) for _, draw in layers.groupby("draw")]
    assert len(draws) >= 28
    assert max(draw.median() for draw in draws) <= bound["median"]
    assert max(draw.quantile(0.9) for draw in draws) <= bound["ninth"]


@pytest.mark.parametrize("table", ["networks", "networks_2"])
def test_passes_of_whole_networks_add_up(table: str) -> None:
    """Of AlexNet and SqueezeNet, within the bound of an operation's 90th percentile."""
    found = scored(table).frame
    if table == "networks":
        found = found[found["sweep"] == "whole_network"]
    cycles = found.assign(measured=pd.to_numeric(found["gpu_cycles"])).groupby("direction")
    sums = cycles[["predicted", "measured"]].sum()
    assert (100 * (sums["predicted"] / sums["measured"] - 1.0).abs() <= 25).all()
