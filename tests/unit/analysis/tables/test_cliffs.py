"""Steps along an axis that are steeper than their work, and their causes."""

from __future__ import annotations

import pandas as pd

from apuflow.ask import question as ask
from apuflow_analysis.tables.cliffs import cliff_texts, cliffs


def answered(workload: str, *settings: str) -> pd.DataFrame:
    return ask.answer(ask.question(ask.described(workload, settings)))


def table(axis: str, values: list[float], cycles: list[float], flops: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"workload": "pool_fwd", axis: values, "gpu_cycles": cycles, "flops": flops})


def test_the_factor_of_30_of_batch_normalisation_is_named_with_its_cause() -> None:
    """gem5 v24.1: 90,759 and 2,695,680 cycles, a factor of 29.7; from 49 images on clang spills registers."""
    frame = answered("bn_fwd", "num-compute-units=50", "c=155", "n=42,84")
    [found] = cliffs(frame, ["layer.n"])
    assert (found.before, found.after, found.work) == (42, 84, 2)
    assert 22 < found.cycles < 40
    assert "DRAM" in found.cause
    assert "bytes written to DRAM x 3" in found.cause


def test_twice_the_images_that_are_faster_are_named_too() -> None:
    """gem5 v24.1: 8.77 million cycles for 120 images and 4.91 million for 240."""
    frame = answered("bn_fwd", "num-compute-units=93", "c=321", "n=120,240")
    [found] = cliffs(frame, ["layer.n"])
    assert found.cycles < 0.8
    assert "DRAM" in found.cause


def test_more_units_are_named_where_they_are_slower_by_more_than_a_tenth() -> None:
    units = table("num_compute_units", [4, 8, 16], [1000, 1090, 1300], [64, 64, 64])
    assert [(one.before, one.after) for one in cliffs(units, ["num_compute_units"])] == [(8, 16)]


def test_a_step_as_steep_as_its_work_is_no_cliff_nor_is_a_start_that_small_layers_share() -> None:
    growing = table("layer.n", [1, 10, 100, 1000], [900, 1000, 10_000, 290_000], [1, 10, 100, 1000])
    assert cliffs(growing, ["layer.n"]) == []
    growing.loc[3, "gpu_cycles"] = 310_000
    assert len(cliffs(growing, ["layer.n"])) == 1


def test_the_cause_is_the_unit_whose_busy_time_makes_the_difference() -> None:
    frame = table("layer.n", [1, 2], [1000, 11_000], [5, 10])
    frame["walk_utilization"], frame["dram_utilization"] = [0.1, 0.9], [0.8, 0.1]
    frame["page_walks"], frame["instructions"] = [1, 10], [50, 100]
    [text] = cliff_texts(frame, ["layer.n"])
    assert "page walks, one after the other: busy for 100, then 9,900 cycles (page walks x 10)" in text


def test_of_many_steps_the_steepest_are_shown_and_the_others_counted() -> None:
    cycles = [float(4**k) for k in range(7)]
    frame = table("layer.n", list(range(1, 8)), cycles, [1.0] * 7)
    assert cliff_texts(frame, ["layer.n"])[3:] == ["and 3 more steps of this kind"]


def test_an_engine_that_names_no_limit_gives_none() -> None:
    [text] = cliff_texts(table("num_compute_units", [4, 16], [1000, 2000], [64, 64]), ["num_compute_units"])
    assert text.endswith("no unit's busy time changes so much")
