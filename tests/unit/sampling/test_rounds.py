"""A sweep with ``sampling``, round by round; gem5 is SqueezeNet's recorded cycles."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from places import DATA
from sweep_texts import write_suite_sweep
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import AXIS
from apuflow.plan.targets import check_targets
from apuflow.sampling import suites as sampled_suites
from apuflow.sampling.rounds import SampleRounds, write_sample
from apuflow.sampling.runs import Ran

RECORDED = dict(pd.read_csv(DATA / "squeezenet_gem5.csv")[["operation", "gpu_cycles"]].to_numpy())
"""GPU cycles of every operation on gem5 v23.0.1.0, forward, one image, 4 compute units."""
WHOLE = 32.2e6
"""GPU cycles of the whole iteration on gem5, as docs/tutorials/network.md has them."""
SAMPLING = {"bound": 0.15, "budget": 0.9}
NET = {"under": "net/"}


def write_sweep(root: Path, **changes: Any) -> None:
    more = {"sampling": SAMPLING, **changes}
    write_suite_sweep(root, "squeezenet1_1", **{key: each for key, each in more.items() if each is not None})


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project where a run is there when its record is; an empty one completed, any other failed."""

    def measured(point: Point, kernels: object, root: Path) -> Ran | None:
        record = root / paths.run_record(point.engine, point.workload, point.id)
        if not record.exists():
            return None
        return Ran(() if record.read_text() else (float(RECORDED[str(point.axes[AXIS])]),))

    monkeypatch.setattr(sampled_suites, "read_ran", measured)
    monkeypatch.chdir(root)
    write_sweep(root)
    return root


class Incomplete(Exception):
    """As Snakemake's: the input function is asked again when the round is made."""


class Workflow:
    """One call of Snakemake, which makes the records of a round and then asks again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rounds = SampleRounds(Campaign(root))
        self.checkpoints = SimpleNamespace(sample_round=SimpleNamespace(get=self._get))
        self.asked: tuple[str, ...] = ()

    def _get(self, sweep: str, round: str) -> None:
        of, workload, self.asked = self.rounds.round_records({"sweep": sweep, "round": round})
        assert (of.name, workload) == ("net", "operations")
        if not all((self.root / record).exists() for record in self.asked):
            raise Incomplete

    def next_round(self) -> tuple[str, ...] | None:
        """Records that the round now due makes; None: the sample is complete."""
        try:
            self.rounds.records(NET, self.checkpoints)
        except Incomplete:
            return self.asked
        return None

    def make(self, record: str, failed: str = "") -> None:
        file = self.root / record
        assert not file.exists(), "a run is made once"
        file.parent.mkdir(parents=True)
        file.write_text(failed)

    def run(self) -> list[tuple[str, ...]]:
        """Every round that it makes."""
        made = []
        while (records := self.next_round()) is not None:
            made.append(records)
            for record in records:
                self.make(record)
        return made


def written(root: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Table of operations and the total."""
    files = [root / paths.sampled("net/"), root / paths.sampled_totals("net/")]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    write_sample(Campaign(root), "net/", *map(str, files))
    members, totals = map(pd.read_csv, files)
    return members, totals.iloc[0]


def test_rounds_end_with_an_interval_as_narrow_as_asked(project: Path) -> None:
    workflow = Workflow(project)
    rounds = workflow.run()
    assert len(rounds) > 1
    members, total = written(project)
    assert total["ended"] == "met"
    width = max(total["high"] - total["cycles"], total["cycles"] - total["low"])
    assert width <= SAMPLING["bound"] * total["cycles"]
    # as the columns say, and by no formula of the sample: repeats times cycles; predicted cycles of what ran
    assert total["cycles"] == pytest.approx((members["repeats"] * members["cycles"]).sum())
    ran = members["measured"].notna()
    spent = members["predicted"][ran].sum() / members["predicted"].sum()
    assert total["spent"] == round(spent, 6)  # digits of the table
    assert total["spent"] <= SAMPLING["budget"]
    assert sum(map(len, rounds)) == ran.sum() == total["measured"] + total["audited"]
    assert set(workflow.rounds.records(NET, workflow.checkpoints)) == {r for each in rounds for r in each}


def test_rows_say_what_was_measured_estimated_and_audited(project: Path) -> None:
    Workflow(project).run()
    members, total = written(project)
    assert len(members) == total["operations"] == 36
    gem5 = members["operation"].map(RECORDED)
    measured, audit = members["origin"] == "measured", members["origin"] == "audit"
    assert 0 < audit.sum() == total["audited"]
    assert (members["measured"] == gem5)[measured | audit].all()
    assert members["measured"].isna()[~(measured | audit)].all()
    for shown in ("cycles", "low", "high"):
        assert (members[shown] == gem5)[measured | audit].all()
    assert members["error"][audit].notna().all() and total["audit_inside"] == members["inside"][audit].sum()
    assert members.loc[~audit, ["error", "inside"]].isna().all(axis=None)


def test_an_audited_operation_that_is_off_counts_in_the_total_and_contradicts_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sweep(project, sampling={"bound": 0.001, "budget": 0.6})
    Workflow(project).run()
    members, total = written(project)
    one = members[members["origin"] == "audit"].nlargest(1, "predicted").iloc[0]
    assert one["inside"] and total["ended"] != "met"
    monkeypatch.setitem(RECORDED, one["operation"], 5 * RECORDED[one["operation"]])
    again, other = written(project)
    row = again[again["point"] == one["point"]].iloc[0]
    assert not row["inside"] and row["cycles"] == 5 * one["measured"]
    assert other["audit_inside"] < other["audited"] and other["ended"] == "contradicted"
    assert other["missed"] * other["cycles"] > total["missed"] * total["cycles"]


def test_after_a_kill_the_next_workflow_goes_on(project: Path) -> None:
    killed = Workflow(project)
    records = killed.next_round()
    assert records is not None and len(records) > 2
    for record in records[:2]:
        killed.make(record)
    assert not set(records[:2]) & {record for each in Workflow(project).run() for record in each}
    assert written(project)[1]["ended"] == "met"


def test_a_round_stays_as_it_is_until_all_of_it_is_there(project: Path) -> None:
    """Another checkpoint of the same workflow makes Snakemake ask in the middle of a round."""
    workflow = Workflow(project)
    records = workflow.next_round()
    assert records is not None
    workflow.make(records[0])
    assert workflow.next_round() == records


def test_a_budget_that_does_not_suffice_is_kept_and_said(project: Path) -> None:
    write_sweep(project, sampling={"bound": 0.001, "budget": 0.2, "audit": 1})
    Workflow(project).run()
    _, total = written(project)
    assert total["ended"] != "met" and 0.1 < total["spent"] <= 0.2
    assert total["low"] <= WHOLE <= total["high"]
    before = {*project.glob("runs/*/*/*")}
    write_sweep(project)
    Workflow(project).run()
    assert written(project)[1]["ended"] == "met" and before < {*project.glob("runs/*/*/*")}


def test_whatever_the_budget_the_interval_holds_what_gem5_took(project: Path) -> None:
    """One of five intervals of 95 % may miss it."""
    held = []
    for budget in (0.05, 0.1, 0.2, 0.3, 0.5):
        shutil.rmtree(project / "runs", ignore_errors=True)
        write_sweep(project, sampling={"bound": 0.03, "budget": budget})
        Workflow(project).run()
        members, total = written(project)
        truth = (members["repeats"] * members["operation"].map(RECORDED)).sum()
        held.append(total["low"] <= truth <= total["high"])
        ran = members["measured"].notna()
        assert members["predicted"][ran].sum() <= budget * members["predicted"].sum()
    assert held.count(False) <= 1


def test_a_run_that_failed_is_estimated_and_not_asked_for_again(project: Path) -> None:
    workflow = Workflow(project)
    records = workflow.next_round()
    assert records is not None
    workflow.make(records[0], failed="timeout")
    for record in records[1:]:
        workflow.make(record)
    workflow.run()
    members, total = written(project)
    assert total["failed"] == 1
    failed = members.set_index("point").loc[Path(records[0]).parent.name]
    assert failed["origin"] == "estimated" and failed["low"] < failed["cycles"] < failed["high"]


def test_another_seed_draws_another_audit(project: Path) -> None:
    """What is drawn is simulated first."""
    drawn = []
    for seed in (0, 1):
        write_sweep(project, sampling={"audit": 3, "seed": seed})
        arguments = ["sample", "net", "--next", "--budget", "0.5", "--bound", "0.01"]
        drawn.append(set(CliRunner().invoke(build_app(), arguments).output.split()[:3]))
    assert len(drawn[0]) == len(drawn[1]) == 3 and drawn[0] != drawn[1]


def test_options_of_the_command_come_before_the_key(project: Path) -> None:
    def asked(*options: str) -> set[str]:
        return set(CliRunner().invoke(build_app(), ["sample", "net", "--next", *options]).output.split())

    loose = ("--bound", "1", "--budget", "1")
    assert asked(*loose, "--audit", "8") != asked(*loose, "--audit", "0")
    assert len(asked("--budget", "0.1")) < len(asked())


def test_a_sample_that_lacks_runs_is_not_written(project: Path) -> None:
    with pytest.raises(EngineError, match="missing"):
        written(project)
    assert not (project / paths.sampled("net/")).exists()


def test_points_are_those_of_the_sweep_without_the_key(project: Path) -> None:
    with_key = [point.id for point in Campaign(project).points("net", paths.OPERATIONS)]
    write_sweep(project, sampling=None)
    assert [point.id for point in Campaign(project).points("net", paths.OPERATIONS)] == with_key


@pytest.mark.parametrize("target", ["squeezenet1_1.csv", "items/squeezenet1_1.csv", "figures/layers.svg"])
def test_a_result_that_needs_all_operations_is_refused(project: Path, target: str) -> None:
    with pytest.raises(ConfigError, match="needs every operation"):
        check_targets(Campaign(project), [f"results/net/{target}"])


def test_results_of_a_sample_are_targets_of_it_alone(project: Path) -> None:
    results = [f"results/net/{name}" for name in ("report.html", "sampled.csv", "operations.csv")]
    check_targets(Campaign(project), results)
    write_sweep(project, sampling=None)
    with pytest.raises(ConfigError, match="takes no sample"):
        check_targets(Campaign(project), results)
