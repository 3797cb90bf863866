"""``apuflow network represent``: few operations with the statistics of many."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import ROOT
from scipy.optimize import linprog
from typer.testing import CliRunner, Result

from apuflow.ask import question as ask
from apuflow.cli import build_app
from apuflow.core.errors import ConfigError
from apuflow.statsnet.fit import Mix, fit
from apuflow.statsnet.make import (
    Request,
    StatsNet,
    agreement,
    make,
    report,
    speedups,
    statistics_table,
    write,
)
from apuflow.statsnet.profile import BYTES, FLOP, TOTAL, operations, size_class, statistics

SQUEEZENET = Request(("squeezenet1_1",), ("n=1", "direction=fwd"))
LISTED = "operation,op,phase,repeats,flop,name\n"


def columns(**operations: list[float]) -> pd.DataFrame:
    """Statistics of made-up operations: cycles by two kernels, then three totals."""
    rows = [("cycles by kernel", "a"), ("cycles by kernel", "b")]
    rows += [(TOTAL, part) for part in ("cycles", FLOP, BYTES)]
    return pd.DataFrame(operations, index=pd.MultiIndex.from_tuples(rows, names=["statistic", "part"]))


@pytest.fixture(scope="module")
def squeezenet() -> StatsNet:
    return make(SQUEEZENET, ROOT)


def statsnet(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["network", "represent", *arguments])


def listed(root: Path, *rows: str) -> None:
    (root / "configs/suites/mine.csv").write_text(LISTED + "".join(f"{row}\n" for row in rows))
    (root / "configs/suites/mine.yaml").write_text(
        "{description: x, kind: operations, table: mine, source: x}"
    )


def test_what_it_is_made_of_comes_back() -> None:
    found = fit(columns(x=[4, 0, 4, 8, 2], y=[0, 5, 5, 1, 1]), pd.Series({"x": 3.0, "y": 2.0}), 2, 0.01)
    assert found.repeats.to_dict() == {"x": 3, "y": 2} and found.iterations == 1


@pytest.mark.parametrize("seed", [7, 10])
def test_no_other_four_operations_are_nearer(seed: int) -> None:
    """Of 14 operations, against all 1,001 choices of four: their least largest error of ten totals."""
    drawn = np.random.default_rng(seed)
    names = [FLOP, BYTES, *(f"total {number}" for number in range(8))]
    index = pd.MultiIndex.from_product([[TOTAL], names], names=["statistic", "part"])
    made_up = pd.DataFrame(drawn.gamma(0.5, size=(10, 14)), index, [f"op {number}" for number in range(14)])
    weights = pd.Series(drawn.integers(1, 9, 14).astype(float), made_up.columns)
    target = (made_up @ weights).to_numpy()
    parts = made_up.to_numpy() / target[:, None]
    rows = np.vstack([parts, parts[0] - parts[1]])
    goal = np.append(np.ones(10), 0.0)

    def least(four: tuple[int, ...]) -> float:
        limits = np.block([[rows[:, four], -np.ones((11, 1))], [-rows[:, four], -np.ones((11, 1))]])
        return float(linprog([0, 0, 0, 0, 1], A_ub=limits, b_ub=np.concatenate([goal, -goal])).fun)

    best = min(least(four) for four in combinations(range(14), 4))
    mix = fit(made_up, weights, 4, 0.0)
    got = np.array([mix.weighted(made_up.loc[row]) for row in made_up.index]) / target
    error = max(np.abs(got - 1).max(), abs(got[0] - got[1]))
    assert error == pytest.approx(best, abs=0.01)


def test_one_operation_stands_for_others_like_it() -> None:
    # y is half an x: 2 + 3 / 2 = 3.5 of x, 7 in 2 iterations
    found = fit(columns(x=[4, 0, 4, 8, 2], y=[2, 0, 2, 4, 1]), pd.Series({"x": 2.0, "y": 3.0}), 1, 0.001)
    assert found.weighted(pd.Series({"x": 4.0, "y": 2.0})) == 14.0
    assert len(found.repeats) == 1


def test_errors_are_shares_of_a_statistic_and_of_a_total_itself() -> None:
    # x and y once: cycles 4 + 5, operations 8 + 1, bytes 2 + 1; x twice: cycles 8 + 0, operations 16, bytes 4
    table = statistics_table(
        columns(x=[4, 0, 4, 8, 2], y=[0, 5, 5, 1, 1]),
        pd.Series({"x": 1.0, "y": 1.0}),
        Mix(pd.Series({"x": 2}), 1),
    )["error"]
    assert table["cycles by kernel", "a"] == pytest.approx((8 - 4) / 9)
    assert table["cycles by kernel", "b"] == pytest.approx(-5 / 9)
    assert table[TOTAL, "cycles"] == pytest.approx(-1 / 9)
    assert table[TOTAL, FLOP] == pytest.approx(16 / 9 - 1)
    assert table["arithmetic intensity", f"{FLOP} per byte"] == pytest.approx((16 / 4) / (9 / 3) - 1)


def test_speedup_is_over_the_fewest_units() -> None:
    # set 10 + 10 on 1 unit, 5 + 10 on 2: 20 / 15; mix of two x: 20 and 10
    cycles = {1: pd.Series({"x": 10.0, "y": 10.0}), 2: pd.Series({"x": 5.0, "y": 10.0})}
    curve = speedups(cycles, pd.Series({"x": 1.0, "y": 1.0}), Mix(pd.Series({"x": 2}), 1))
    assert curve["target"].tolist() == [1, pytest.approx(4 / 3)]
    assert curve["error"].tolist() == [0, pytest.approx(0.5)]


def test_pairs_of_machines_in_the_same_order() -> None:
    # a-b: the same; a-c: 0.5 % apart in the first, no order; b-c: opposite
    assert agreement(pd.Series([1.0, 2.0, 1.005]), pd.Series([1.0, 2.0, 3.0])) == (1, 2)


def test_classes_of_sizes_differ_by_four() -> None:
    words = size_class(pd.Series([1.0, 3.0, 4.0, 15.0, 16.0, 1024.0]), "workgroups").tolist()
    assert words == [
        *["1 to 3 workgroups"] * 2,
        *["4 to 15 workgroups"] * 2,
        "16 to 63 workgroups",
        "1,024 to 4,095 workgroups",
    ]


def test_statistics_of_operations_that_are_listed(root: Path) -> None:
    """A work-item of the update has 4 values, a workgroup 256 work-items: 1 and 5 workgroups."""
    listed(root, "sgd fwd elements=1024,sgd,update,3,0,a", "sgd fwd elements=5000,sgd,update,2,0,b")
    found = operations(["mine"], [], root)
    assert found.weights.tolist() == [3.0, 2.0]
    table = statistics(found.points)
    whole = table @ found.weights
    assert whole[TOTAL, "launches"] == 5
    assert whole[TOTAL, "workgroups"] == 3 * 1 + 2 * 5
    assert whole.loc["launches by kernel"].to_dict() == {"sgd_momentum": 5}
    assert whole.loc["launches by size"].to_dict() == {"1 to 3 workgroups": 3, "4 to 15 workgroups": 2}
    parts = [
        "cycles by kernel",
        "cycles by length",
        "cycles by size",
        "cycles by operation",
        "cycles by limit",
    ]
    cycles = table.loc[[(TOTAL, "cycles")]].to_numpy()[0]
    for name in parts:
        assert table.loc[[name]].to_numpy().sum(axis=0) == pytest.approx(cycles)


def test_suites_with_equal_cycles(root: Path) -> None:
    listed(root, "sgd fwd elements=1024,sgd,update,3,0,a")
    found = operations(["mine", "alexnet_64"], ["n=1", "direction=both"], root, equal=True)
    spent = found.cycles * found.weights
    alone = operations(["mine"], [], root).points
    mine = float(spent[list(alone)].sum())
    assert mine == pytest.approx(float(spent.sum()) / 2)


def test_statistics_and_speedup_are_within_their_bounds(squeezenet: StatsNet) -> None:
    assert squeezenet.holds
    assert len(squeezenet.mix.repeats) == 20 < len(squeezenet.operations.points) == 36
    assert squeezenet.statistics["error"].abs().max() < 0.02
    assert squeezenet.speedups["error"].abs().max() < 0.03


def test_on_gem5_it_takes_as_long_as_the_whole_network(squeezenet: StatsNet) -> None:
    """tests/data/squeezenet_gem5.csv: every operation of the network on gem5 v23.0.1.0, 4 compute units."""
    measured = pd.read_csv(ROOT / "tests/data/squeezenet_gem5.csv", index_col="operation")
    for name in ("gpu_cycles", "instructions", "kernels_launched"):
        whole = float((measured[name] * squeezenet.operations.weights).sum())
        assert squeezenet.mix.weighted(measured[name]) == pytest.approx(whole, rel=0.02), name


def test_the_suite_runs_as_any_other(squeezenet: StatsNet, root: Path) -> None:
    write("small", squeezenet, "apuflow network represent small", root)
    table = ask.answer(ask.question(ask.described("small", [], root), root), root)
    got = squeezenet.statistics["got"]
    for column, row in (("gpu_cycles", "cycles"), ("kernels_launched", "launches")):
        assert float(table[column].iloc[0]) == pytest.approx(got[TOTAL, row] * squeezenet.mix.iterations)
    numbers = report(squeezenet)
    assert set(numbers["check"]) >= {"cycles by kernel", "total", "speedup by compute units"}


def test_the_command_writes_what_holds_and_nothing_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    base = ["small", "n=1", "direction=fwd", "--of", "alexnet_64", "--csv", "numbers.csv"]
    done = statsnet(*base, "--layers", "3")
    assert done.exit_code == 1 and "not written" in done.output
    assert not (root / "configs/suites/small.yaml").exists()
    done = statsnet(*base, "--check", "squeezenet1_1")
    assert done.exit_code == 0, done.output
    assert "order of 10 machines as on squeezenet1_1" in done.output
    assert (root / "configs/suites/small.csv").read_text().startswith(LISTED)
    assert np.isfinite(pd.read_csv(root / "numbers.csv")["got"]).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["small"], "--of"),
        (["small", "--of", "resnet5"], "resnet50"),
        (["small", "n=1,2", "--of", "resnet50"], "one value"),
        (["resnet18", "--of", "resnet50"], "resnet18.yaml"),
        (["small", "--of", "deepbench_sparse"], "deepbench_sparse"),
        (["small", "--of", "resnet50", "--bound", "2"], "--bound"),
    ],
)
def test_what_cannot_be_made_is_refused(
    arguments: list[str], said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    error = statsnet(*arguments).exception
    assert isinstance(error, ConfigError) and said in str(error)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("sgd elements=5,sgd,update,1,0,a", "operation"),
        ("sgd fwd elements=5,sgd,later,1,0,a", "phase"),
        ("sgd fwd elements=5,sgd,update,0,0,a", "repeats"),
    ],
)
def test_a_wrong_row_of_a_list_of_operations_is_named(row: str, said: str, root: Path) -> None:
    listed(root, row)
    with pytest.raises(ConfigError, match=said) as caught:
        operations(["mine"], [], root)
    assert str(caught.value.file).endswith("mine.csv:2")


def test_algorithms_of_listed_operations_are_fixed(root: Path) -> None:
    listed(root, "sgd fwd elements=5,sgd,update,1,0,a")
    with pytest.raises(ConfigError, match="algorithm"):
        operations(["mine"], ["algorithm=direct"], root)
