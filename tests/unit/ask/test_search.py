"""The search of a sweep's space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sweep_texts import HEAD

from apuflow.ask.judge import save_best
from apuflow.ask.question import table_of
from apuflow.ask.search import search
from apuflow.configure import load_sweep
from apuflow.core.errors import ConfigError
from apuflow.plan.points import points
from apuflow_analysis.tables.objectives import Objective, pareto

SPACE = (
    HEAD + "release: v23.0\naxes: {num-compute-units: [1, 2, 4, 8, 16], tcc-size: [128kB, 256kB, 1MB]}\n"
    "exclude: [{num-compute-units: 1, tcc-size: 1MB}]\n"
)
AREA = "num_compute_units * 2 + tcc_size / 131072"


def space(root: Path, text: str = SPACE) -> None:
    (root / "configs/sweeps/space.yaml").write_text(text)


def test_points_that_none_beats_by_hand() -> None:
    """(2, 2) is beaten by (1, 2); (3, 1) and (1, 2) by none; two equal points do not beat each other."""
    values = np.array([[2.0, 2.0], [1.0, 2.0], [3.0, 1.0], [4.0, 4.0], [1.0, 2.0]])
    assert list(pareto(values)) == [False, True, True, False, True]
    rng = np.random.default_rng(0)
    many = rng.integers(0, 12, (200, 3)).astype(float)
    beaten = [any((o <= row).all() and (o < row).any() for o in many) for row in many]
    assert list(pareto(many)) == [not each for each in beaten]


def test_a_search_finds_what_evaluating_everything_finds(root: Path) -> None:
    space(root)
    sweep = load_sweep("space", root)
    found = search(sweep, [Objective("gpu_cycles")], root=root)
    table = table_of(points(sweep, "softmax_fwd", root))
    assert (found.space, found.evaluated, found.refused) == (14, 14, 0)
    assert found.rows["gpu_cycles"].iloc[0] == table["gpu_cycles"].min()
    assert list(found.rows["gpu_cycles"].iloc[1:]) == sorted(found.rows["gpu_cycles"].iloc[1:])
    overlapping = (table["gpu_cycles_low"] < found.rows["gpu_cycles_high"].iloc[0]).sum() - 1
    assert found.undecided == overlapping


def test_two_objectives_and_a_constraint(root: Path) -> None:
    """The area counts 2 for a compute unit and 1 for 128 kB of TCC."""
    space(root)
    sweep = load_sweep("space", root)
    found = search(sweep, [Objective("gpu_cycles"), Objective(AREA)], ["num_compute_units <= 8"], root=root)
    assert found.refused == 3 and found.rows["num_compute_units"].max() == 8
    sizes = found.rows["tcc_size"].map({"128kB": 1, "256kB": 2, "1MB": 8})
    assert list(found.rows[AREA]) == list(found.rows["num_compute_units"] * 2 + sizes)
    best = found.rows[found.rows["best"]].sort_values(AREA)
    assert list(best["gpu_cycles"]) == sorted(best["gpu_cycles"], reverse=True)
    assert best[AREA].iloc[0] == 3
    largest = search(sweep, [Objective("num_compute_units", larger=True)], root=root)
    assert largest.rows["num_compute_units"].iloc[0] == 16


def test_objectives_of_several_workloads_add_up(root: Path) -> None:
    space(root, SPACE.replace("[softmax_fwd]", "[softmax_fwd, softmax_bwd]"))
    sweep = load_sweep("space", root)
    found = search(sweep, [Objective("gpu_cycles")], root=root)
    tables = [table_of(points(sweep, name, root)) for name in ("softmax_fwd", "softmax_bwd")]
    keys = ["num_compute_units", "tcc_size"]
    first, second = (table.set_index(keys)["gpu_cycles"] for table in tables)
    assert dict(found.rows.set_index(keys)["gpu_cycles"]) == dict(first + second)


def test_the_cost_of_a_machine_counts_once_for_several_workloads(root: Path) -> None:
    """The smallest machine has 1 compute unit and 128 kB: 2 + 1, however many programs it runs."""
    space(root, SPACE.replace("[softmax_fwd]", "[softmax_fwd, softmax_bwd]"))
    found = search(load_sweep("space", root), [Objective(AREA), Objective("gpu_cycles")], root=root)
    assert found.rows[AREA].iloc[0] == 3


def test_a_large_space_is_sampled_the_same_way_each_time(root: Path) -> None:
    space(root)
    sweep = load_sweep("space", root)
    first, again = (search(sweep, [Objective("gpu_cycles")], most=6, root=root) for _ in range(2))
    assert (first.evaluated, first.space) == (6, 15)
    assert list(first.rows["gpu_cycles"]) == list(again.rows["gpu_cycles"])
    assert not ((first.rows["num_compute_units"] == 1) & (first.rows["tcc_size"] == "1MB")).any()


def test_the_best_are_kept_for_gem5_to_judge(root: Path) -> None:
    space(root)
    sweep = load_sweep("space", root)
    found = search(sweep, [Objective("gpu_cycles"), Objective(AREA)], root=root)
    save_best(sweep, found, [Objective("gpu_cycles"), Objective("ipc", larger=True)], 4, "judged", root)
    kept = points(load_sweep("judged", root), "softmax_fwd", root)
    assert load_sweep("judged", root).figures.objectives == ("gpu_cycles", "-(ipc)")
    head = found.rows.head(4)
    wanted = list(zip(head["num_compute_units"], head["tcc_size"], strict=True))
    for engine in ("gem5-kernels", "preview"):
        assert [tuple(p.axes.values()) for p in kept if p.engine == engine] == wanted


@pytest.mark.parametrize(
    ("objective", "constraint", "said"),
    [
        ("cycles", "gpu_cycles > 0", "cannot be evaluated"),
        ("gpu_cycles", "gpu_cycles >", "cannot be evaluated"),
        ("gpu_cycles", "gpu_cycles < 0", "no point satisfies"),
        ("@open", "gpu_cycles > 0", "cannot be evaluated"),
    ],
)
def test_a_mistake_in_an_expression_is_told_in_words(
    root: Path, objective: str, constraint: str, said: str
) -> None:
    space(root)
    with pytest.raises(ConfigError, match=said):
        search(load_sweep("space", root), [Objective(objective)], [constraint], root=root)


@pytest.mark.parametrize(
    ("objective", "constraints", "message"),
    [("'text'", (), "gives no number"), ("gpu_cycles", ("gpu_cycles",), "a constraint compares")],
)
def test_what_is_no_number_and_no_comparison_is_refused(
    root: Path, objective: str, constraints: tuple[str, ...], message: str
) -> None:
    space(root)
    with pytest.raises(ConfigError, match=message):
        search(load_sweep("space", root), [Objective(objective)], constraints, root=root)
