"""``apuflow score``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app


def test_a_directory_without_the_sources_scores_the_recorded_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(build_app(), ["score", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["runs"] == 608
