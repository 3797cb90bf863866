"""What figures, report and archive of a sweep are made from: kernel rows, the preview's error, the files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from analysis import figures
from apuflow.campaign.campaign import Campaign
from apuflow.configure import load_site, load_sweep, load_workload, option_rules
from apuflow.core.errors import ConfigError
from apuflow.prepare.requests import supplied
from apuflow.preview import run
from apuflow.study.archive_files import study_files
from apuflow.study.kernel_rows import kernel_rows
from apuflow.study.score import measured_error, read_tables, recorded, score, summary

ROOT = Path(__file__).parents[2]


@pytest.fixture
def campaign() -> Campaign:
    return Campaign(ROOT)


def test_kernel_rows_add_up_to_their_points(campaign: Campaign) -> None:
    sweep = load_sweep("quickstart", ROOT).model_copy(update={"workloads": ("conv_fwd", "softmax_fwd")})
    rows = kernel_rows(campaign, sweep)
    assert rows.attrs["axes"] == ("num_compute_units",)
    for workload in ("conv_fwd", "softmax_fwd"):
        points = campaign.points("quickstart", workload, "preview")
        whole = run(points, option_rules.defaults("v23.0")).set_index("point")["gpu_cycles"]
        parts = rows[rows["workload"] == workload].groupby("point")["gpu_cycles"].sum()
        assert parts.to_dict() == pytest.approx({str(name): float(value) for name, value in whole.items()})
    assert rows[rows["workload"] == "conv_fwd"]["kernel"].nunique() > 1
    shares = figures.make("kernels", rows).data.groupby(["workload", "at"])["share"].sum()
    assert list(shares) == pytest.approx([1.0] * len(shares))


def test_the_previews_error_is_the_one_that_score_prints() -> None:
    text = measured_error()
    found = summary(score(read_tables(recorded())).frame)
    numbers = [float(number) for number in re.findall(r"(\d+\.\d) %", text)]
    assert numbers == pytest.approx([100 * found["median_error"], 100 * found["p90_error"]], abs=0.06)
    assert f"{found['runs']} runs of real gem5" in text


def test_a_study_that_never_ran_names_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    with pytest.raises(ConfigError) as caught:
        study_files(Campaign(tmp_path), load_sweep("quickstart", tmp_path))
    assert "runs/preview/" in str(caught.value)
    assert "snakemake --cores all results/quickstart/report.html" in str(caught.value)


def test_what_a_site_brought_is_hashed_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/libdnnmark.so").write_bytes(b"abc")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/site.yaml").write_text("dnnmark: {build: mine}\n")
    found = supplied(load_site(tmp_path), [load_workload("softmax_fwd", ROOT)], tmp_path)
    # SHA-256 of "abc", FIPS 180-4
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert found == {"mine/libdnnmark.so": digest}
