"""Jobs of the tests of container engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apuflow.containers.job import Job, Limits
from apuflow.core.owner import Labels


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    def job(*command: str, **changes: Any) -> Job:
        made = Job(command, tmp_path, tmp_path / "home", tmp_path / "log", Labels.here(tmp_path, "u4"))
        return replace(made, **{"limits": Limits(wall_seconds=60, grace_seconds=2), **changes})

    return job
