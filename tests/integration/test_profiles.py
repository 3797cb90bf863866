"""The profiles of executors: what they share, and that Snakemake plans with them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from gem5_project import SNAKEMAKE
from places import ROOT
from standins import repositories

EXECUTORS = sorted(file.parent.name for file in (ROOT / "profiles").glob("*/config.yaml"))
EXECUTORS.remove("default")
STORED = ("kubernetes", "aws-batch")
SECRETS = {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "a", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "b"}


def profile(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text()))


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_profile_keeps_what_the_default_one_decides(name: str) -> None:
    default, given = profile("default"), profile(name)
    plain = {key: value for key, value in default.items() if not key.startswith(("__", "?"))}
    assert {key: given.get(key) for key in plain} == plain
    assert given["logger"] == ["apuflow"]
    assert given["executor"] == name


@pytest.mark.parametrize("name", EXECUTORS)
def test_snakemake_plans_with_the_profile(project: Path, tmp_path: Path, name: str) -> None:
    """With a directory in place of a bucket, which a plan would look into."""
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "store")]
    command = [str(SNAKEMAKE), "-n", "--workflow-profile", f"profiles/{name}"]
    done = subprocess.run(
        [*command, *(storage if name in STORED else []), "results/quickstart/softmax_fwd.csv"],
        cwd=project,
        env={**repositories.environment(), **SECRETS},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "preview" in done.stdout + done.stderr
