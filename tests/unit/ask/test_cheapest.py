"""The cheapest machine near the best: its choice and its sentences, from a table made by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sweep_texts import HEAD

from apuflow.ask.cheapest import objectives_of, sentence, share_of
from apuflow.ask.judge import contenders, doubts, judge, next_points
from apuflow.ask.search import Found, _sorted
from apuflow.configure import load_sweep
from apuflow.configure.sweep import Sweep
from apuflow.core.errors import ConfigError
from apuflow_analysis.tables.objectives import Objective, ends

COST = "num_compute_units"
OBJECTIVES = (Objective("gpu_cycles"), Objective(COST))


def found(share: float, within: float = 0.1) -> Found:
    """2, 4, 8 and 16 units take 200, 108, 100 and 104 cycles, each ``share`` either way."""
    rows = pd.DataFrame({COST: [2, 4, 8, 16], "gpu_cycles": [200.0, 108.0, 100.0, 104.0], "flags": ""})
    for end, factor in (("low", 1 - share), ("high", 1 + share)):
        rows[f"gpu_cycles_{end}"] = rows["gpu_cycles"] * factor
        rows[f"{COST}_{end}"] = rows[COST].astype(float)
    return _sorted(Found(rows, (COST,), 4, 4, 0, OBJECTIVES, within))


def test_the_cheapest_within_a_share_of_the_best_comes_first() -> None:
    """100 is the best: 110 is the limit of 10 %, so 4, 8 and 16 units are near; of 5 % it is 105."""
    assert list(found(0).rows[COST]) == [4, 8, 16, 2]
    assert list(found(0).rows["within"]) == [True, True, True, False]
    assert found(0, 0.05).rows[COST].iloc[0] == 8


def test_narrow_intervals_carry_the_answer_and_wide_ones_do_not() -> None:
    """0.5 %: 108.54 <= 1.1 * 99.5 = 109.45, and 199 > 1.1 * 100.5. 2 %: 110.16 > 1.1 * 98.

    40 %: 2 units may take 120 cycles and 4 units 151.2; 120 <= 1.1 * 140.
    """
    assert doubts(found(0.005)) == (True, 0)
    assert "the intervals carry this" in list(sentence(found(0.005)))[-1]
    assert doubts(found(0.02)) == (False, 0)
    assert doubts(found(0.4)) == (False, 1)
    told = list(sentence(found(0.4)))
    assert told[0].startswith("cheapest within 10 % of the best: num_compute_units 4: gpu_cycles 108 (64.8")
    assert told[1].startswith("the best gpu_cycles: num_compute_units 8") and told[1].endswith("8.0% from it")
    assert told[2] == (
        "the intervals do not carry this: this machine may miss the best by more than 10 %, "
        "and 1 cheaper machine may be within 10 %"
    )


def test_gem5_is_given_the_answer_the_best_and_what_may_be_cheaper() -> None:
    """40 %: the machine of 2 units may be near; 16 units are dearer and come last."""
    assert list(contenders(found(0.4)).rows[COST]) == [4, 8, 2, 16]


def ran(cycles: dict[int, float]) -> pd.DataFrame:
    head = {"engine": "gem5-kernels", "workload": "softmax_fwd", "status": "completed", "flags": ""}
    return pd.DataFrame([{**head, COST: units, "gpu_cycles": value} for units, value in cycles.items()])


@pytest.fixture
def sweep(root: Path) -> Sweep:
    (root / "configs/sweeps/space.yaml").write_text(HEAD + "axes: {num-compute-units: [2, 4, 8, 16]}\n")
    return load_sweep("space", root)


def test_a_judged_machine_is_the_answer_only_if_no_other_can_be(root: Path, sweep: Sweep) -> None:
    """10 %: after 4 (108) and 8 (100) units ran, 16 units may take 93.6, whose limit 102.96 excludes 108.

    2 units take 180 at least. 16 units then take 99: their limit is 108.9, and 4 units are settled.
    """
    first = judge(found(0.1), OBJECTIVES, ran({4: 108, 8: 100}), sweep, root)
    assert list(next_points(first, 9).rows[COST]) == [4, 8, 16] and not first.settled
    second = judge(found(0.1), OBJECTIVES, ran({4: 108, 8: 100, 16: 99}), sweep, root)
    assert second.settled and second.found.rows[COST].iloc[0] == 4


def test_gem5_can_overturn_the_answer(root: Path, sweep: Sweep) -> None:
    """4 units take 120 on gem5, more than 1.1 * 100: 8 units are the cheapest."""
    verdict = judge(found(0.1), OBJECTIVES, ran({4: 120, 8: 100, 16: 104}), sweep, root)
    assert verdict.settled and verdict.found.rows[COST].iloc[0] == 8


def test_an_expression_has_the_interval_of_the_cycles_in_it_or_none() -> None:
    """Cycles 100 (80 to 130), 2 units: 2 * 100 is 160 to 260; 1/cycles the other way round; units exact."""
    frame = pd.DataFrame(
        {"gpu_cycles": [100.0], "gpu_cycles_low": [80.0], "gpu_cycles_high": [130.0], COST: [2], "ipc": [0.5]}
    )
    texts = [f"gpu_cycles * {COST}", "1000 / gpu_cycles", f"{COST} * 3", "ipc"]
    told = {name: values.item() for name, values in ends(frame, texts, (COST,)).items()}
    assert [told[f"{texts[0]}_{end}"] for end in ("low", "high")] == [160, 260]
    assert [told[f"{texts[1]}_{end}"] for end in ("low", "high")] == pytest.approx([1000 / 130, 12.5])
    assert [told[f"{texts[2]}_{end}"] for end in ("low", "high")] == [6, 6]
    assert told["ipc_low"] != told["ipc_low"]


def test_a_share_is_read_as_people_write_it() -> None:
    assert [share_of(text, OBJECTIVES) for text in ("10%", "10 %", "0.1")] == [0.1, 0.1, 0.1]
    for text in ("ten", "-1%", "nan%"):
        with pytest.raises(ConfigError, match="not a share"):
            share_of(text, OBJECTIVES)
    with pytest.raises(ConfigError, match="chooses the cheapest") as caught:
        share_of("10%", OBJECTIVES[:1])
    assert "--cost" in str(caught.value)


def test_time_and_not_cycles_counts_where_the_clock_varies(root: Path, sweep: Sweep) -> None:
    (root / "configs/sweeps/clock.yaml").write_text(HEAD + "axes: {gpu-clock: [1GHz, 2GHz]}\n")
    assert objectives_of(sweep, (), (), ())[0].expression == "gpu_cycles"
    assert objectives_of(load_sweep("clock", root), (), (), ())[0].expression == "gpu_time"
