"""The sentences on axes, of tables whose answer is known by hand."""

from __future__ import annotations

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
    """Exact times: 1600/400 = 4; 4 units reach the best speed, 2 units (800) half of it."""
    assert said([1600, 800, 400, 400, 400]) == "from 1 to 16: 4x faster; saturates at 4."


def test_a_value_that_comes_near_the_best_speed_has_saturated() -> None:
    """440 is 0.909 of the speed of 400, 450 is 0.889 of it: 0.9 lies between."""
    assert said([1600, 800, 440, 410, 400]).endswith("saturates at 4.")
    assert said([1600, 800, 450, 410, 400]).endswith("saturates at 8.")


def test_the_end_of_a_gain_within_the_intervals_is_no_saturation() -> None:
    """With 10 % either way 4x is 1440/440 to 1760/360; 400 and 400 may differ by 440/360."""
    assert said([1600, 800, 400, 400, 400], 0.1) == (
        "from 1 to 16: 4x (3.27x to 4.89x) faster; beyond 4 no difference shown within the interval."
    )


def test_intervals_that_are_narrow_enough_carry_a_saturation() -> None:
    """With 2 % either way: 0.9 * 408 = 367.2 lies below 392, 0.9 * 816 does not."""
    assert said([1600, 800, 400, 400, 400], 0.02).endswith("; saturates at 4.")


def test_a_line_that_loses_again_is_fastest_between() -> None:
    """800/400 = 2, 720/440 to 880/360; 1600/400 = 4, 1440/440 to 1760/360."""
    assert said([1600, 800, 400, 600, 800], 0.1) == (
        "from 1 to 16: fastest at 4, 2x (1.64x to 2.44x) faster than at 16 "
        "and 4x (3.27x to 4.89x) faster than at 1."
    )


def test_a_loss_within_the_intervals_is_not_told() -> None:
    """The last, 378 to 462, may be as fast as the best, 360 to 440. 1600/420 is 1440/462 to 1760/378."""
    assert said([1600, 800, 400, 410, 420], 0.1) == (
        "from 1 to 16: 3.81x (3.12x to 4.66x) faster; beyond 4 no difference shown within the interval."
    )


def test_an_effect_within_the_intervals_is_not_told() -> None:
    """1000 and 900 with 10 % either way: 900 to 1100 and 810 to 990. Exact, they are 1000/900 = 1.11."""
    values: list[float] = [1000, 980, 960, 930, 900]
    assert (
        said(values, 0.1) == "from 1 to 16: within the interval: no difference shown (estimated speed 1.11x)."
    )
    assert said(values).startswith("from 1 to 16: 1.11x faster")


def test_a_slower_end_has_its_factor_and_guesses_are_named() -> None:
    """1000 to 3000: 3 times slower, 2700/1100 to 3300/900."""
    text = said([1000, 1000, 1000, 2000, 3000], 0.1, "unmeasured: 16 num-compute-units (measured 1 to 8)")
    assert text == "from 1 to 16: 3x (2.45x to 3.67x) slower; the interval is a guess: not measured there."


def two(first: list[float], second: list[float], share: float) -> str:
    """The sentence on two workloads, bn_fwd and pool_fwd."""
    frame = grid({"num_compute_units": UNITS}, workloads=["bn_fwd", "pool_fwd"], engine="preview")
    frame["gpu_cycles"] = [*first, *second]
    frame["gpu_time"] = frame["gpu_cycles"] * 1e-9
    frame["gpu_cycles_low"] = frame["gpu_cycles"] * (1 - share)
    frame["gpu_cycles_high"] = frame["gpu_cycles"] * (1 + share)
    [(_, text)] = answers(frame)
    return text


def test_several_workloads_share_a_sentence() -> None:
    """With 1 %: 1000/500 is 990/505 to 1010/495; 1000/125 is 990/126.25 to 1010/123.75."""
    assert two([1000, 800, 700, 600, 500], [1000, 500, 250, 125, 125], 0.01) == (
        "from 1 to 16: faster for 2 of 2 workloads, by 2x (1.96x to 2.04x) for bn_fwd "
        "to 8x (7.84x to 8.16x) for pool_fwd; saturates at 8 for pool_fwd."
    )


def test_what_one_workload_gains_is_not_said_of_the_other() -> None:
    """1000 to 1000 with 10 %: open. 1000/250 with 10 %: 900/275 to 1100/225."""
    assert two([1000] * 5, [1000, 900, 500, 400, 250], 0.1) == (
        "from 1 to 16: 4x (3.27x to 4.89x) faster for pool_fwd; "
        "within the interval: no difference shown for bn_fwd (estimated speed 1x)."
    )


def test_an_axis_of_names_has_its_fastest_and_its_slowest() -> None:
    """A: 100, B: 300, C: 200, exact; with 60 % either way A reaches to 160 and B from 120."""
    frame = grid({"mem_type": ["A", "B", "C"]}, workloads=["w"], engine="gem5-kernels")
    frame["gpu_cycles"], frame["gpu_time"] = [100.0, 300.0, 200.0], [1e-7, 3e-7, 2e-7]
    [(_, text)] = answers(frame)
    assert text == "A is 3x faster than B."
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = frame["gpu_cycles"] * 0.4, frame["gpu_cycles"] * 1.6
    [(_, text)] = answers(frame)
    assert text == "within the interval: no difference shown (estimated speed 3x)."


def test_a_sentence_says_where_the_other_axes_are_and_what_it_does_not_answer() -> None:
    """All times halve from 4 to 8 units; pool_fwd has no completed point at 8."""
    frame = grid({"num_compute_units": [4, 8], "num_tccs": [1, 2]}, workloads=["bn_fwd", "pool_fwd"])
    frame["gpu_time"] = frame["gpu_cycles"] * 1e-9
    lost = (frame["workload"] == "pool_fwd") & (frame["num_compute_units"] == 8)
    frame.loc[lost, "status"] = "timeout"
    text = dict(answers(frame))["Compute units"]
    assert (
        text
        == "from 4 to 8: 2x faster; no answer for pool_fwd: points are missing or failed (at TCC banks 1)."
    )


def test_an_axis_each_has_a_sentence_and_nothing_that_varies_has_none() -> None:
    frame = grid({"num_compute_units": [4, 8], "num_tccs": [1, 2]}, workloads=["softmax_fwd"])
    assert {name for name, _ in answers(frame)} == {"Compute units", "TCC banks"}
    assert answers(grid({"num_compute_units": [4]}, workloads=["softmax_fwd"])) == []
