"""``apuflow score``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.score.errors import recorded


def test_a_directory_without_the_sources_scores_the_recorded_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(build_app(), ["score", "--json"])
    assert done.exit_code == 0, done.output
    assert {row["primitive"]: row["runs"] for row in json.loads(done.stdout)}["all"] == 608


def test_the_figure_has_every_run_and_the_share_within_a_tenth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three softmax runs of runs.csv; the number of those within 10 % stands in the panel."""
    monkeypatch.chdir(tmp_path)
    runs = pd.read_csv(recorded()[0], dtype=str)
    runs[runs["primitive"] == "softmax_fwd"].head(3).to_csv("runs.csv", index=False)
    done = CliRunner().invoke(build_app(), ["score", "runs.csv", "--figure", "seen.svg"])
    assert done.exit_code == 0, done.output
    drawn = pd.read_csv("seen.csv")
    within = int((drawn["error"].abs() <= 0.10).sum())
    assert len(drawn) == 3
    drawing = (tmp_path / "seen.svg").read_text()
    assert "softmax_fwd" in drawing and f"{within / 3:.0%} of 3" in drawing
    assert (tmp_path / "seen.png").stat().st_size > 0
