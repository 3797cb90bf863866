"""``apuflow sample``: which runs it asks for, and what it makes of them."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from network_runs import IMAGES, network_sweep
from places import DATA
from run_records import run_record
from sweep_texts import write_suite_sweep
from typer.testing import CliRunner

from apuflow import preview
from apuflow.cli import build_app
from apuflow.configure import load_release, option_rules
from apuflow.configure.point import Point
from apuflow.configure.sweep_keys import Sampling
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.sampling import suites as sampled_suites
from apuflow.sampling.runs import Ran
from apuflow.sampling.suites import Sampled, member_table
from apuflow_analysis.counters.counters import counters


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_suite_sweep(root, "resnet50")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def gem5(project: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Cycles of what has been run; add to it."""
    runs: dict[str, float] = {}
    monkeypatch.setattr(
        sampled_suites, "read_ran", lambda point, *_: Ran((runs[point.id],)) if point.id in runs else None
    )
    return runs


DEFAULT = Sampling()


def sampled(root: Path, aim: Sampling = DEFAULT) -> list[Sampled]:
    campaign = Campaign(root)
    return sampled_suites.sample_suites(campaign, campaign.load("net"), aim)


def truth(root: Path, seed: int = 11) -> pd.Series:
    """Made-up cycles of every operation: the preview's, off by a factor per kind and one per operation."""
    [one] = sampled(root)
    members = one.members
    generator = np.random.default_rng(seed)
    factors = {name: generator.normal(0.1, 0.2) for name in members["kernels"].unique()}
    kind = members["kernels"].map(factors).to_numpy(float)
    cycles = members["predicted"].to_numpy(float) * np.exp(kind + generator.normal(0, 0.05, len(members)))
    return pd.Series(cycles, index=members.index)


def points(root: Path) -> list[Point]:
    campaign = Campaign(root)
    [member] = [one for one in campaign.members(campaign.load("net")) if one.engine != "preview"]
    return [point for _, point in member.items if isinstance(point, Point)]


def identifiers(records: tuple[str, ...]) -> list[str]:
    return [Path(record).parent.name for record in records]


def test_runs_are_asked_for_until_the_interval_is_narrow(project: Path, gem5: dict[str, float]) -> None:
    """And the interval holds the total as often as promised: one in 20 draws may miss it."""
    aim, held = Sampling(bound=0.1, budget=1), []
    for seed in range(11, 31):
        cycles = truth(project, seed)
        gem5.clear()
        for _ in range(10):
            [one] = sampled(project, aim)
            if not one.following:
                break
            gem5.update({name: float(cycles[name]) for name in identifiers(one.following)})
        assert one.is_met
        members = one.estimate.members
        weighted = float((members["weight"].to_numpy(float) * cycles.to_numpy(float)).sum())
        held.append(one.estimate.low <= weighted <= one.estimate.high)
        assert one.estimate.half_width <= 0.1 * one.estimate.total
        assert one.estimate.cost < 0.5
    assert np.mean(held) >= aim.confidence


def test_what_it_asks_for_are_points_of_the_sweep(project: Path) -> None:
    [one] = sampled(project)
    campaign = Campaign(project)
    records = {
        paths.run_record(point.engine, point.workload, point.id)
        for point in campaign.points("net", paths.OPERATIONS, "gem5-kernels")
    }
    assert one.following
    assert set(one.following) <= records


def test_repeats_count_as_often_as_an_iteration_runs_them(project: Path) -> None:
    [one] = sampled(project)
    campaign = Campaign(project)
    [member] = [m for m in campaign.members(campaign.load("net")) if m.engine == "gem5-kernels"]
    items = sum(step.repeats for step, point in member.items if isinstance(point, Point))
    assert one.estimate.members["weight"].sum() == items


def test_every_operation_is_written_with_its_origin(project: Path, gem5: dict[str, float]) -> None:
    [one] = sampled(project)
    first = identifiers(one.following)[0]
    gem5[first] = 12345.0
    frame = member_table(sampled(project)).set_index("point")
    shown = ["origin", "cycles", "low", "high"]
    assert frame[shown].to_dict("index")[first] == dict(zip(shown, ["audit"] + [12345] * 3, strict=True))
    others = frame.drop(first)
    assert (others["origin"] == "estimated").all()
    assert others["low"].lt(others["cycles"]).all()
    assert others["cycles"].lt(others["high"]).all()


def test_the_command_prints_records_for_snakemake(project: Path) -> None:
    done = CliRunner().invoke(build_app(), ["sample", "net", "--next"])
    [one] = sampled(project)
    assert done.output.split() == list(one.following)
    shown = CliRunner().invoke(build_app(), ["sample", "net"]).output
    assert "resnet50" in shown
    assert f"0/{len(one.estimate.members)}" in shown


def test_where_nothing_follows_snakemake_has_nothing_to_do(project: Path, gem5: dict[str, float]) -> None:
    """Without a target it would make the default one: hours of gem5."""
    [one] = sampled(project)
    there = identifiers(one.following)[:2]
    gem5.update(dict.fromkeys(there, 12345.0))
    command = ["sample", "net", "--next", "--budget", "1e-9", "--audit", "0"]
    done = CliRunner().invoke(build_app(), command)
    assert sorted(identifiers(tuple(done.output.split()))) == sorted(there)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["quickstart"], "suites"),
        (["net", "--bound", "3"], "--bound"),
        (["net", "--confidence", "1"], "--confidence"),
        (["net", "--budget", "0"], "--budget"),
        (["net", "--audit", "-1"], "--audit"),
        (["net", "--seed", "-1"], "--seed"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Path, arguments: list[str], key: str) -> None:
    error = CliRunner().invoke(build_app(), ["sample", *arguments]).exception
    assert isinstance(error, ConfigError)
    assert error.key == key


def test_preview_alone_has_nothing_to_estimate(project: Path) -> None:
    file = project / "configs/sweeps/net.yaml"
    file.write_text(file.read_text().replace("- gem5-kernels\n", ""))
    with pytest.raises(ConfigError, match="no engine that simulates"):
        sampled(project)


def test_of_large_launches_the_first_workgroups_are_enough(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is launched counts in the budget; what was measured so has an interval of its own."""
    file = project / "configs/sweeps/net.yaml"
    aim = Sampling(bound=0.001, budget=0.05, audit=0)
    [whole] = sampled(project, aim)
    file.write_text(file.read_text() + "workgroups: {}\n")
    [cut] = sampled(project, aim)
    assert (whole.members["cost"] == whole.members["predicted"]).all()
    share = cut.members["cost"] / cut.members["predicted"]
    assert share.min() < 0.2 and share.max() == 1
    assert len(cut.following) > len(whole.following)
    runs: dict[str, Ran] = {}
    monkeypatch.setattr(sampled_suites, "read_ran", lambda point, *_: runs.get(point.id))
    predicted, kernels = cut.members["predicted"], cut.members["kernels"].str.split("+")
    for name in identifiers(cut.following):
        runs[name] = Ran((1.2 * predicted[name],), (0.05,), dict.fromkeys(kernels[name], 0.1))
    [one] = sampled(project, aim)
    rows = one.members.loc[list(runs)]
    assert rows["cost"].tolist() == pytest.approx((0.1 * rows["predicted"]).tolist())
    assert rows["measured_doubt"].tolist() == pytest.approx([0.05] * len(rows))
    assert ((rows["low"] < rows["cycles"]) & (rows["cycles"] < rows["high"])).all()
    assert one.spent == pytest.approx(0.1 * rows["predicted"].sum() / predicted.sum())
    kept = next(iter(runs))
    runs[kept] = Ran((1.2 * predicted[kept],), kept_whole=frozenset(kernels[kept]))
    [known] = sampled(project, aim)
    same = [
        name for name in predicted.index.difference(list(runs)) if set(kernels[name]) <= set(kernels[kept])
    ]
    assert same and (known.members.loc[same, "cost"] == known.members.loc[same, "predicted"]).all()


def test_a_run_of_first_workgroups_says_what_it_took(project: Path) -> None:
    """Its first launch ran 8 of 80 workgroups, one every four cycles; im2col ran 16 of 88 in all."""
    kernels = ("Im2d2Col", "sgemm")
    members = sampled(project)[0].members
    name = str(members.index[members["kernels"] == "+".join(kernels)][0])
    [point] = [point for point in points(project) if point.id == name]
    file = project / paths.run_record(point.engine, point.workload, name)
    file.parent.mkdir(parents=True)
    (file.parent / "stats.txt").write_bytes(
        lzma.decompress((DATA / "gem5_runs/dispatches/conv_fwd.txt.xz").read_bytes())
    )
    groups = [80, 16, 8, 16]
    launches: list[dict[str, Any]] = [
        {"kernel": kernel, "grid": [256 * number, 1, 1], "workgroup": [256, 1, 1]}
        for kernel, number in zip(2 * kernels, groups, strict=True)
    ]
    launches[0]["ran"] = 8
    traced: dict[str, Any] = {"name": "K", "grid": [1], "workgroup": [1], "arguments": 0, "submitted": 1}
    dispatches = [dict(traced) for _ in launches]
    dispatches[0] |= {"held": 2, "fillings": [1000.0, 9000.0, 17000.0, 25000.0]}
    facts = asdict(load_release("v23.0", project).facts)
    more = {"release": "v23.0", "release_facts": facts, "engine": "gem5-kernels", "dispatches": dispatches}
    file.write_text(json.dumps(run_record(**more, launches=launches, statistics="stats.txt")))
    simulated = counters(file.parent / "stats.txt", load_release("v23.0", project).facts, kernels_only=True)
    [one] = sampled(project)
    row = one.members.loc[name]
    assert row["measured"] == simulated["gpu_cycles"] + 72 * 4
    assert row["measured_doubt"] == pytest.approx(0.1 * 72 * 4 / row["measured"])
    predicted = preview.kernels_frame([point], option_rules.defaults(preview.RELEASE)).set_index("kernel")
    by_kernel = predicted["gpu_cycles"] * predicted["count"]
    assert row["cost"] == pytest.approx(by_kernel["Im2d2Col"] * 16 / 88 + by_kernel["sgemm"])


def played(
    root: Path, monkeypatch: pytest.MonkeyPatch, rows: pd.DataFrame, aim: Sampling
) -> tuple[Sampled, dict[str, Ran], float]:
    """Sweep ``net`` sampled with recorded cycles: the estimate, what ran, and the cycles of all.

    Args:
        rows: ``operation``, ``kernel``, ``gpu_cycles`` of gem5.
    """
    recorded = {(str(of), str(kernel)): float(cycles) for of, kernel, cycles in rows.to_numpy()}
    runs: dict[str, Ran] = {}
    monkeypatch.setattr(sampled_suites, "read_ran", lambda point, *_: runs.get(point.id))
    campaign = Campaign(root)
    sweep = campaign.load("net")
    while (one := sampled_suites.sample_suites(campaign, sweep, aim)[0]).round:
        for name in identifiers(one.round):
            operation, kernels = map(str, one.members.loc[name, ["operation", "kernels"]])
            runs[name] = Ran(tuple(recorded[operation, kernel] for kernel in kernels.split("+")))
    cycles = one.members["operation"].map(rows.groupby("operation")["gpu_cycles"].sum())
    return one, runs, float((cycles * one.members["repeats"]).sum())


def prior_half_width(one: Sampled) -> float:
    """The interval without what the audit may have missed."""
    return one.estimate.high - one.estimate.total - one.estimate.missed


DEVELOP: dict[str, Any] = {"release": "v24.1", "machine": "apu-gfx902"}
V23: dict[str, Any] = {"release": "v23.0", "machine": "apu-gfx801"}


@pytest.mark.parametrize("budget", [0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize(
    ("file", "direction", "operations", "gem5"),
    [("squeezenet64", "both", 90, DEVELOP), ("squeezenet64_fwd", "fwd", 36, V23)],
    ids=["an iteration on develop c91af552", "forward on v23.0.1.0"],
)
def test_the_interval_holds_what_gem5_took_kernel_by_kernel(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    direction: str,
    operations: int,
    gem5: dict[str, Any],
    budget: float,
) -> None:
    """SqueezeNet on 64x64 images, 4 compute units."""
    layer, units = {"n": 1, "image": 64, "direction": direction}, {"num-compute-units": [4]}
    write_suite_sweep(root, "squeezenet1_1", layer=layer, axes=units, **gem5)
    monkeypatch.chdir(root)
    rows = pd.read_csv(DATA / f"{file}_gem5.csv")
    one, runs, truth = played(root, monkeypatch, rows, Sampling(bound=0.01, budget=budget, audit=0))
    assert len(one.members) == operations and len(runs) < 30
    assert abs(one.estimate.total - truth) <= 1.2 * prior_half_width(
        one
    )  # one of eight at 95 % is just missed


def test_intervals_hold_what_whole_iterations_took_as_often_as_promised(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three budgets of four networks on two machines: of 24 intervals of 95 % one may miss."""
    monkeypatch.chdir(root)
    held = []
    for network, units in product(IMAGES, (4, 16)):
        rows = network_sweep(root, network, units)
        for budget in (0.05, 0.2, 0.5):
            one, _, truth = played(root, monkeypatch, rows, Sampling(bound=0.01, budget=budget, audit=0))
            held.append(abs(one.estimate.total - truth) <= prior_half_width(one))
    assert len(held) == 24 and held.count(False) <= 1


def off_by(root: Path, monkeypatch: pytest.MonkeyPatch, network: str, units: int, share: float) -> float:
    """The error of an iteration's cycles from a share of them."""
    rows = network_sweep(root, network, units)
    members = sampled(root)[0].members
    whole, once = (members["predicted"] * members["repeats"]).sum(), members["predicted"].sum()
    aim = Sampling(bound=0.001, budget=float(share * whole / once), audit=0)
    one, runs, truth = played(root, monkeypatch, rows, aim)
    assert sum(sum(ran.cycles) for ran in runs.values()) < 1.1 * share * truth
    return abs(one.estimate.total / truth - 1.0)


def test_a_twentieth_of_an_iteration_tells_the_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward, backward and update of four networks on two machines; of ResNet-152 a hundredth will do."""
    monkeypatch.chdir(root)
    errors = [off_by(root, monkeypatch, network, units, 1 / 20) for network in IMAGES for units in (4, 16)]
    assert np.mean(errors) <= 0.04 and max(errors) <= 0.10
    assert max(off_by(root, monkeypatch, "resnet152", units, 1 / 100) for units in (4, 16)) <= 0.03
