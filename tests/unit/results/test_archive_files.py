"""Files of an archive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import load_sweep
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.results.archive_files import study_files


def test_a_study_that_never_ran_names_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    with pytest.raises(ConfigError) as caught:
        study_files(Campaign(tmp_path), load_sweep("quickstart", tmp_path))
    assert "runs/preview/" in str(caught.value)
    assert "snakemake --cores all results/quickstart/report.html" in str(caught.value)
