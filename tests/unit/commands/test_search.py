"""``apuflow search``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from sweep_texts import HEAD
from typer.testing import CliRunner

from apuflow.cli import build_app


def test_from_a_space_to_a_pareto_figure_and_a_sweep_for_gem5(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    axes = "axes: {num-compute-units: [2, 4, 8], num-tccs: [1, 2]}\n"
    (root / "configs/sweeps/space.yaml").write_text(HEAD + axes)
    arguments = ["search", "space", "-m", "gpu_cycles", "-m", "num_compute_units", "--figure", "front.svg"]
    done = CliRunner().invoke(build_app(), [*arguments, "--judge", "judged", "--best", "2"])
    assert done.exit_code == 0, done.output
    assert "all 6 points computed; 0 left out" in " ".join(done.output.split())
    drawn = pd.read_csv("front.csv")
    assert len(drawn) == 6 and drawn["best"].any()
    assert "none is better in both" in (root / "front.svg").read_text()
    judged = yaml.safe_load((root / "configs/sweeps/judged.yaml").read_text())["zip"][0]
    assert all(type(value) is int for value in judged["num-compute-units"])
