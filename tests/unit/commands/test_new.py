"""``apuflow new``."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.campaign.points import points
from apuflow.commands.new import write_study
from apuflow.configure import (
    load_sweep,
)
from apuflow.core.errors import ConfigError


def test_a_new_study_runs_as_it_is(root: Path) -> None:
    path = write_study("mine", root)
    assert len(points(load_sweep("mine", root), "softmax_fwd", root)) == 6
    with pytest.raises(ConfigError, match="exists"):
        write_study("mine", root)
    with pytest.raises(ConfigError, match="not a usable name"):
        write_study("../mine", root)
    assert path == root / "configs/sweeps/mine.yaml"
