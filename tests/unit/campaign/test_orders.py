"""What a cluster's job is told, and how points are divided into jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.orders import BatchOrder, Orders, PointOrder, asked_minutes, batch_sizes, divide
from apuflow.campaign.rule_inputs import RuleInputs
from apuflow.core import paths
from apuflow.core.errors import EngineError

SWEEP = (
    "description: x\nengines: [gem5-kernels]\nworkloads: [softmax_fwd]\naxes: {num-compute-units: [4, 8]}\n"
)


def order(number: int, **changed: Any) -> PointOrder:
    first = PointOrder("gem5", "softmax_fwd", f"u{number}", "t", {}, {"tools": ["a.json"]}, 4000, 15, 1.0)
    return replace(first, **changed)


def test_points_of_a_second_share_jobs_of_the_wanted_length() -> None:
    """1.3 s each with what a run takes besides: 23 of them in 30 s."""
    batches = list(divide([order(number) for number in range(50)], 30.0))
    assert [len(batch.points) for batch in batches] == [23, 23, 4]
    assert [one.point for batch in batches for one in batch.points] == [f"u{number}" for number in range(50)]
    assert len({batch.name for batch in batches}) == 3
    assert batches[0].minutes == 2 + 10  # 4 times 29.9 s, and ten minutes to start
    assert list(batch_sizes([1.0] * 50, 30.0)) == [23, 23, 4]


def test_long_and_unknown_points_have_a_job_of_their_own() -> None:
    orders = [order(1, seconds=None), order(2, seconds=20.0), order(3), order(4), order(5, seconds=3600.0)]
    assert [[one.point for one in batch.points] for batch in divide(orders, 30.0)] == [["u3", "u4"]]
    assert list(divide(orders, 0.0)) == []


def test_a_batch_asks_for_the_memory_of_its_largest_run_and_not_for_one_of_another_size() -> None:
    orders = [order(1), order(2, memory_mb=4090), order(3, memory_mb=64000), order(4, memory_mb=65000)]
    assert [batch.memory_mb for batch in divide(orders, 30.0)] == [4090, 65000]


def test_a_scheduler_is_asked_for_several_times_the_estimate_and_for_the_wall_limit_at_most() -> None:
    assert asked_minutes(59.7, 7 * 86400) == 4 + 10
    assert asked_minutes(None, 5400) == 90 + 10
    assert asked_minutes(5000, 5400) == 90 + 10


def test_orders_come_back_as_they_were_written(tmp_path: Path) -> None:
    orders, batch = Orders(tmp_path), BatchOrder((order(1), order(2)), 12)
    orders.write(batch)
    orders.write(order(3))
    assert orders.batch(batch.name) == batch
    assert orders.point({"engine": "gem5", "workload": "softmax_fwd", "point": "u3"}) == order(3)
    assert orders.point({"engine": "gem5", "workload": "softmax_fwd", "point": "u4"}) is None
    with pytest.raises(EngineError, match="no order"):
        orders.batch("0" * 16)


def test_orders_whose_points_are_done_are_removed(tmp_path: Path) -> None:
    orders, batch = Orders(tmp_path), BatchOrder((order(1), order(2)), 12)
    for each in (batch, order(3), order(4)):
        orders.write(each)
    mark = tmp_path / paths.batch(batch.name)
    mark.touch()
    for done in (1, 3):
        record = tmp_path / order(done).record
        record.parent.mkdir(parents=True)
        record.touch()
    orders.clean()
    assert mark.exists() and orders.batch(batch.name) == batch
    assert [path.stem for path in tmp_path.glob(paths.point_order("*", "*", "*"))] == ["u4"]
    (tmp_path / order(2).record).parent.mkdir()
    (tmp_path / order(2).record).touch()
    orders.clean()
    assert not mark.exists() and not list((tmp_path / "build/batches").iterdir())


@pytest.fixture
def needs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points whose only input is a record, so that planning them asks for no compiler."""
    monkeypatch.setattr(RuleInputs, "_needs", lambda self, point: {"tools": ["gem5.json"]})


@pytest.mark.usefixtures("needs_little")
def test_a_job_finds_its_order_whatever_has_become_of_the_sweeps(root: Path) -> None:
    """The workflow plans; then every sweep is damaged; a job still knows memory, time and inputs."""
    (root / "configs/sweeps/t.yaml").write_text(SWEEP)
    (root / "configs/site.yaml").write_text("batch: 0s\n")
    inputs = RuleInputs(Campaign(root), lambda: True)
    table = inputs.table_inputs({"under": "t/", "workload": "softmax_fwd"}, checkpoints())
    assert len(table["records"]) == 2 and table["batches"] == []
    found = paths.matcher(paths.run_record()).fullmatch(table["records"][0])
    assert found is not None
    wildcards = found.groupdict()
    needed = inputs.simulation_inputs(wildcards)
    for sweep in (root / "configs/sweeps").iterdir():
        sweep.write_text("nonsense: [")
    job = RuleInputs(Campaign(root), is_job=True)
    assert job.simulation_inputs(wildcards) == needed
    assert job.simulation_memory(wildcards) == inputs.simulation_memory(wildcards)
    assert 10 < job.simulation_minutes(wildcards) < 7 * 24 * 60


@pytest.mark.usefixtures("needs_little")
def test_points_are_planned_once_and_those_that_have_run_are_not_in_a_batch(root: Path) -> None:
    (root / "configs/sweeps/t.yaml").write_text(SWEEP)
    wildcards = {"under": "t/", "workload": "softmax_fwd"}
    inputs = RuleInputs(Campaign(root), lambda: True)
    table = inputs.table_inputs(wildcards, checkpoints())
    [mark] = table["batches"]
    assert table["records"] == []
    assert inputs.table_inputs(wildcards, checkpoints()) == table
    name = Path(mark).stem
    batch = RuleInputs(Campaign(root), is_job=True)
    assert batch.batch_inputs({"batch": name}) == inputs.batch_inputs({"batch": name})
    assert batch.batch_minutes({"batch": name}) == inputs.batch_minutes({"batch": name})
    first = Orders(root).batch(name).points[0]
    (root / first.record).parent.joinpath("attempts").mkdir(parents=True)
    again = RuleInputs(Campaign(root), lambda: True)
    assert again.table_inputs(wildcards, checkpoints())["batches"] == []
    parts = dict(zip(("engine", "workload", "point"), Path(first.record).parts[1:4], strict=True))
    again.simulation_inputs(parts)
    assert again.simulation_minutes(parts) == 7 * 24 * 60 + 10


def checkpoints() -> Any:
    """Snakemake's, when the image is there."""
    return SimpleNamespace(image=SimpleNamespace(get=lambda **wildcards: None))


@pytest.mark.usefixtures("needs_little")
def test_a_part_of_the_points_comes_in_a_batch_of_its_own(root: Path) -> None:
    """As a round of a sample asks for; the next round's are another batch."""
    (root / "configs/sweeps/t.yaml").write_text(SWEEP.replace("[4, 8]", "[1, 2, 4, 8]"))
    inputs = RuleInputs(Campaign(root), lambda: True)
    sweep = inputs.campaign.load("t")
    records = inputs.campaign.records(sweep, "softmax_fwd")
    batches = []
    for part in (records[:2], records[2:]):
        found = inputs.in_batches(sweep, "softmax_fwd", part)
        [mark] = found["batches"]
        assert found["records"] == []
        assert {order.record for order in Orders(root).batch(Path(mark).stem).points} == set(part)
        batches.append(mark)
    assert inputs.in_batches(sweep, "softmax_fwd", records) == {"records": [], "batches": batches}
