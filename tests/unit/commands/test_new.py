"""``apuflow new``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.commands.new import write_study
from apuflow.configure import (
    load_sweep,
)
from apuflow.core.errors import ConfigError
from apuflow.plan.points import points


def test_a_new_study_runs_as_it_is(root: Path) -> None:
    path = write_study("mine", root)
    assert len(points(load_sweep("mine", root), "softmax_fwd", root)) == 6
    with pytest.raises(ConfigError, match="there already"):
        write_study("mine", root)
    with pytest.raises(ConfigError, match="not a usable name"):
        write_study("../mine", root)
    assert path == root / "configs/sweeps/mine.yaml"


def test_the_command_says_what_is_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["new", "study", "mine"])
    assert done.exit_code == 0
    assert done.output.split("\n")[:2] == ["configs/sweeps/mine.yaml", "next: apuflow plan mine"]
    assert isinstance(CliRunner().invoke(build_app(), ["new", "study", "mine"]).exception, ConfigError)
