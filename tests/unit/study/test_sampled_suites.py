"""``apuflow sample``: which runs it asks for, and what it makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import DATA
from sweep_texts import write_suite_sweep
from typer.testing import CliRunner

from apuflow.campaign.campaign import Campaign
from apuflow.cli import build_app
from apuflow.configure.point import Point
from apuflow.configure.sampling import Sampling
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.study import sampled_suites
from apuflow.study.sampled_suites import Sampled, member_table


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
        sampled_suites, "_measured", lambda point, *_: (runs[point.id],) if point.id in runs else None
    )
    return runs


DEFAULT = Sampling()


def sampled(root: Path, aim: Sampling = DEFAULT) -> list[Sampled]:
    campaign = Campaign(root)
    return sampled_suites.sample_suites(campaign, campaign.load("net"), aim)


def truth(root: Path) -> pd.Series:
    """Made-up cycles of every operation: the preview's, off by a factor per kind and one per operation."""
    [one] = sampled(root)
    members = one.members
    generator = np.random.default_rng(11)
    factors = {name: generator.normal(0.1, 0.2) for name in members["kernels"].unique()}
    kind = members["kernels"].map(factors).to_numpy(float)
    cycles = members["predicted"].to_numpy(float) * np.exp(kind + generator.normal(0, 0.05, len(members)))
    return pd.Series(cycles, index=members.index)


def identifiers(records: tuple[str, ...]) -> list[str]:
    return [Path(record).parent.name for record in records]


def test_runs_are_asked_for_until_the_interval_is_narrow(project: Path, gem5: dict[str, float]) -> None:
    cycles, aim = truth(project), Sampling(bound=0.05, budget=0.5)
    for _ in range(10):
        [one] = sampled(project, aim)
        if not one.following:
            break
        gem5.update({name: float(cycles[name]) for name in identifiers(one.following)})
    assert one.is_met
    members = one.estimate.members
    weighted = float((members["weight"].to_numpy(float) * cycles.to_numpy(float)).sum())
    assert abs(one.estimate.total - weighted) <= one.estimate.half_width <= 0.05 * one.estimate.total
    assert one.estimate.cost < 0.5
    assert len(one.audit) == 3
    assert not set(one.audit.index) & set(members.index[members["is_measured"]])


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
    assert frame[shown].to_dict("index")[first] == dict(zip(shown, ["measured"] + [12345] * 3, strict=True))
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


def test_extrapolated_launches_are_no_sample(project: Path, gem5: dict[str, float]) -> None:
    """The sample's interval would not know of the error within its runs."""
    file = project / "configs/sweeps/net.yaml"
    file.write_text(file.read_text() + "workgroups: {}\n")
    with pytest.raises(ConfigError, match="extrapolated launches") as refused:
        sampled(project)
    assert refused.value.key == "workgroups"


@pytest.mark.parametrize("budget", [0.05, 0.1, 0.2, 0.4])
def test_the_interval_holds_what_gem5_took_kernel_by_kernel(
    root: Path, monkeypatch: pytest.MonkeyPatch, budget: float
) -> None:
    """SqueezeNet on 64x64 images, forward, backward and update, on gfx902 of gem5 develop c91af552."""
    layer, units = {"n": 1, "image": 64}, {"num-compute-units": [4]}
    write_suite_sweep(root, "squeezenet1_1", release="v24.1", machine="apu-gfx902", layer=layer, axes=units)
    monkeypatch.chdir(root)
    rows = pd.read_csv(DATA / "squeezenet64_gem5.csv")
    recorded = {(str(of), str(kernel)): float(cycles) for of, kernel, cycles in rows.to_numpy()}
    runs: dict[str, tuple[float, ...]] = {}
    monkeypatch.setattr(sampled_suites, "_measured", lambda point, *_: runs.get(point.id))
    aim = Sampling(bound=0.01, budget=budget, audit=0)
    while (one := sampled(root, aim)[0]).round:
        for name in identifiers(one.round):
            operation, kernels = map(str, one.members.loc[name, ["operation", "kernels"]])
            runs[name] = tuple(recorded[operation, kernel] for kernel in kernels.split("+"))
    truth = (
        one.members["operation"].map(rows.groupby("operation")["gpu_cycles"].sum()) * one.members["repeats"]
    )
    assert len(one.members) == 90 and len(runs) < 30
    assert abs(one.estimate.total - truth.sum()) <= one.estimate.half_width
