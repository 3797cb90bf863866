"""What a call of snakemake ends with when its targets are not there, on Snakemake's own settings."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import Batch, DAGSettings, StorageSettings

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.result_sets import result_sets
from apuflow.campaign.session import Session
from apuflow.core import paths

SHARED = {"storage_settings": StorageSettings()}
TARGETS = {"results/a/softmax_fwd.csv", "results/a/report.html", "all", "notes.txt"}


def session(root: Path, **changed: Any) -> Session:
    """A session as one of Snakemake's job processes has it: that repairs nothing and registers nowhere."""
    settings = DAGSettings(targets=TARGETS, **changed)
    return Session(SimpleNamespace(is_main_process=False, dag_settings=settings, **SHARED), root)


def test_a_named_result_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results/a").mkdir(parents=True)
    (tmp_path / "results/a/report.html").touch()
    with pytest.raises(SystemExit) as ended:
        session(tmp_path).end()
    assert ended.value.code == 2
    assert "results/a/softmax_fwd.csv" in capsys.readouterr().err
    (tmp_path / "results/a/softmax_fwd.csv").touch()
    session(tmp_path).end()


@pytest.mark.parametrize(
    "part", [{"until": {"simulate"}}, {"omit_from": {"table"}}, {"batch": Batch("table", 1, 2)}]
)
def test_who_asks_for_a_part_of_the_work_misses_nothing(tmp_path: Path, part: dict[str, Any]) -> None:
    session(tmp_path, **part).end()


def test_the_rate_limit_is_where_the_session_lifts_it() -> None:
    assert "self.job_rate_limiter is None" in inspect.getsource(JobScheduler)


@pytest.mark.parametrize("place", ["", ".snakemake", ".snakemake/locks"])
def test_a_tree_of_another_user_is_told_in_words(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write anywhere, so what the system says of a place is given."""
    if place:
        (tmp_path / ".snakemake/locks").mkdir(parents=True)
    allowed = os.access
    refused = tmp_path / place
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != refused and allowed(path, mode))
    with pytest.raises(SystemExit) as ended:
        Session(SimpleNamespace(is_main_process=True, **SHARED), tmp_path)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "cannot write here" in said and str(refused) in said and "Traceback" not in said


def test_figures_of_a_sweep_are_drawn_together_where_several_are_asked_for() -> None:
    campaign = Campaign(ROOT)
    ipc, speedup = (f"results/quickstart/figures/{name}.svg" for name in ("ipc", "speedup"))
    report = "results/quickstart/report.html"
    assert result_sets(campaign, "figures", ["--cores", "8", ipc]) == []
    assert result_sets(campaign, "figures", ["--cores", "8", "results/quickstart/softmax_fwd.csv", ipc]) == []
    for asked in ([report], [ipc, speedup], ["--target-jobs", "figures_of_quickstart:"]):
        (found,) = result_sets(campaign, "figures", ["--cores", "8", *asked])
        assert (found.rule, found.under, found.sweep) == (
            "figures_of_quickstart",
            "quickstart/",
            "quickstart",
        )
        assert [paths.figure("quickstart/", name) for name in found.names] == campaign.sweep_figures(
            {"under": "quickstart/"}
        )
    assert [found.sweep for found in result_sets(campaign, "figures", ["results/report.html", report])] == [
        "default",
        "quickstart",
    ]
    assert result_sets(campaign, "figures", ["results/nonesuch/report.html"]) == []


def test_a_sweep_of_the_preview_alone_is_previewed_and_tabulated_at_once() -> None:
    """One that runs on gem5 is not: each of its tables is there as soon as its runs are."""
    campaign = Campaign(ROOT)
    for kind in ("previews", "tables"):
        for sweep in ("quickstart", "networks"):
            for asked in (f"results/{sweep}/report.html", f"{kind}_of_{sweep}:"):
                (found,) = result_sets(campaign, kind, ["--cores", "8", asked])
                assert (found.rule, found.sweep) == (f"{kind}_of_{sweep}", sweep)
        for other in ("quickstart/softmax_fwd.csv", "kernels/report.html", "sampled_network/report.html"):
            assert result_sets(campaign, kind, [f"results/{other}"]) == []
    assert result_sets(campaign, "previews", ["results/networks/report.html"])[0].names == ("operations",)
    (tables,) = result_sets(campaign, "tables", ["results/networks/report.html"])
    assert tables.names == ("operations", "alexnet_owt", "resnet18", "deepbench_gemm")


def test_items_of_all_suites_are_made_together_for_a_report() -> None:
    """A sampled sweep has none: what its operations add up to is an estimate."""
    campaign = Campaign(ROOT)
    for asked in (["results/networks/report.html"], ["--target-jobs", "suites_of_networks:"]):
        (found,) = result_sets(campaign, "suites", ["--cores", "8", *asked])
        assert (found.rule, found.sweep) == ("suites_of_networks", "networks")
        assert found.names == ("alexnet_owt", "resnet18", "deepbench_gemm")
        made = [file for name in found.names for file in paths.suite_files(found.under, name)]
        assert made == campaign.sweep_items({"under": "networks/"})
    for other in ("networks/items/resnet18.csv", "quickstart/report.html", "sampled_network/report.html"):
        assert result_sets(campaign, "suites", [f"results/{other}"]) == []
