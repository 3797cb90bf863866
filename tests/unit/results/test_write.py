"""What the rules table, figure and report decide, on a preview batch of two workloads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines.preview_batch import write_batch
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest
from apuflow.plan.runs import Runs
from apuflow.results import write as results

WORKLOADS = ("conv_fwd", "softmax_fwd")
SWEEP = f"""description: two workloads on two machines
engines: [preview]
workloads: [{", ".join(WORKLOADS)}]
axes: {{num-compute-units: [4, 8]}}
"""


@pytest.fixture
def campaign(root: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """A project whose sweep has run: its tables are still to be made."""
    (root / "configs/sweeps/two.yaml").write_text(SWEEP)
    monkeypatch.chdir(root)
    campaign = Campaign()
    for workload in WORKLOADS:
        record = Path(paths.preview_record("two", workload))
        record.parent.mkdir(parents=True)
        points = campaign.points("two", workload, "preview")
        write_batch(points, paths.preview_counters("two", workload), record)
    return campaign


def make_table(campaign: Campaign, workload: str) -> str:
    parquet = paths.table("two/", workload, "parquet")
    Path(parquet).parent.mkdir(parents=True, exist_ok=True)
    results.write_table(plan_of(campaign, workload), paths.table_files("two/", workload))
    return parquet


def plan_of(campaign: Campaign, workload: str) -> str:
    return Runs(campaign).plan(campaign.load("two"), workload, []).path


def test_a_table_has_a_row_per_point(campaign: Campaign) -> None:
    make_table(campaign, "softmax_fwd")
    table = pd.read_csv("results/two/softmax_fwd.csv")
    assert list(table["num_compute_units"]) == [4, 8]
    described = json.loads(Path("results/two/softmax_fwd.columns.json").read_text())
    assert list(table.columns) == [column["name"] for column in described["columns"]]


def test_a_preview_of_a_plan_is_that_of_the_sweep(campaign: Campaign) -> None:
    counters = Path(paths.preview_counters("two", "conv_fwd"))
    first = counters.read_bytes()
    counters.unlink()
    plan = plan_of(campaign, "conv_fwd")
    Path("configs/sweeps/two.yaml").unlink()
    write_batch(Manifest(plan).points(), counters, paths.preview_record("two", "conv_fwd"))
    assert counters.read_bytes() == first


@pytest.mark.usefixtures("campaign")
def test_a_batch_of_an_older_sweep_makes_no_table() -> None:
    file = Path("configs/sweeps/two.yaml")
    file.write_text(file.read_text().replace("[4, 8]", "[4, 8, 16]"))
    with pytest.raises(ConfigError, match="no row of this point"):
        make_table(Campaign(), "softmax_fwd")
    assert not Path("results/two/softmax_fwd.csv").exists()


def test_figures_are_drawn_from_kernels_or_from_tables(campaign: Campaign) -> None:
    tables = [make_table(campaign, workload) for workload in WORKLOADS]
    directory = Path("results/two/figures")
    for name, per_kernel in (("kernels", True), ("ipc", False)):
        results.write_figure(campaign, "two/", name, tables, directory)
        drawn = pd.read_csv(directory / f"{name}.csv")
        assert ("kernel" in drawn.columns) == per_kernel
        assert "conv_fwd" in set(drawn["workload"])
        assert (directory / f"{name}.svg").read_text().count("<svg") == 1


def test_a_report_says_how_far_the_preview_is_off(campaign: Campaign) -> None:
    tables = [make_table(campaign, workload) for workload in WORKLOADS]
    page = Path("results/two/report.html")
    results.write_report(campaign, "two/", tables, [], page)
    text = page.read_text()
    assert re.search(r"\d+ gem5 runs", text)
    assert SWEEP.splitlines()[0] in text
