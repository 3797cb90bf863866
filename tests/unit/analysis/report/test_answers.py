"""The sentences on axes, of tables whose answer is known by hand."""

from __future__ import annotations

import pytest
from result_frames import grid

from apuflow_analysis.report.answers import answers

UNITS = [1, 2, 4, 8, 16]


def said(cycles: list[float], share: float | None = None, flags: str = "") -> str:
    """The sentence on one workload of that many cycles, each between ``share`` less and more."""
    frame = grid({"num_compute_units": UNITS}, workloads=["softmax_fwd"], engine="preview")
    frame["gpu_cycles"], frame["gpu_time"] = cycles, [count * 1e-9 for count in cycles]
    if share is not None:
        frame["gpu_cycles_low"] = frame["gpu_cycles"] * (1 - share)
        frame["gpu_cycles_high"] = frame["gpu_cycles"] * (1 + share)
    frame["flags"] = flags
    [(name, text)] = answers(frame)
    assert name == "Compute units"
    return text


def test_a_line_that_stops_gaining_saturates_where_it_stops() -> None:
    """1600/400 = 4; with 10 % either way 1440/440 to 1760/360."""
    assert said([1600, 800, 400, 400, 400], 0.1) == (
        "from 1 to 16: faster for softmax_fwd by 4x (softmax_fwd, between 3.3 and 4.9); "
        "saturates at 4 (softmax_fwd)."
    )


def test_a_line_that_loses_again_turns_at_its_best_value() -> None:
    text = said([1600, 800, 400, 600, 800], 0.1)
    assert "faster for softmax_fwd by 2x (softmax_fwd, between 1.6 and 2.4)" in text
    assert "turns, with more being slower, at 4 (softmax_fwd)" in text


def test_a_loss_within_the_intervals_is_open() -> None:
    text = said([1600, 800, 400, 410, 420], 0.1)
    assert "turns" not in text and "open whether 16 is past the best value for softmax_fwd" in text


def test_an_effect_within_the_intervals_is_open() -> None:
    """1000 and 900 with 10 % either way: 900 to 1100 and 810 to 990."""
    text = said([1000, 980, 960, 930, 900], 0.1)
    assert text == "from 1 to 16: open for softmax_fwd, whose intervals allow either."
    assert said([1000, 980, 960, 930, 900]).startswith(
        "from 1 to 16: faster for softmax_fwd by 1.1x (softmax_fwd)"
    )


def test_a_slower_end_has_its_factor_and_guesses_are_named() -> None:
    """1000 to 3000: 3 times slower, 2700/1100 to 3300/900."""
    text = said([1000, 1000, 1000, 2000, 3000], 0.1, "unmeasured: 16 num-compute-units (measured 1 to 8)")
    assert "slower for softmax_fwd by 3x (softmax_fwd, between 2.5 and 3.7)" in text
    assert "error not measured for softmax_fwd, so that their intervals are guesses" in text


def test_an_axis_each_has_a_sentence_and_nothing_that_varies_has_none() -> None:
    frame = grid({"num_compute_units": [4, 8], "num_tccs": [1, 2]}, workloads=["softmax_fwd"])
    assert {name for name, _ in answers(frame)} == {"Compute units", "TCC banks"}
    assert answers(grid({"num_compute_units": [4]}, workloads=["softmax_fwd"])) == []


@pytest.mark.parametrize("factor", [1, 1000])
def test_a_gem5_row_is_exact(factor: int) -> None:
    text = said([count * factor for count in (1600, 800, 400, 400, 401)])
    assert "by 4x (softmax_fwd)" in text and "turns, with more being slower, at 4" in text
