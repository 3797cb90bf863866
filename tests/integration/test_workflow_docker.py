"""`results/softmax_fwd.csv` from nothing in containers of a real Docker daemon."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import gem5_project
import pandas as pd
import pytest
from gem5_project import Gem5Project

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def finished(
    docker_url: str, docker_image: str, new_project: Callable[[Path], Path]
) -> Iterator[Gem5Project]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        site = {"container": "docker", "socket": docker_url, "image": {"mode": "local", "name": docker_image}}
        project = gem5_project.make(new_project(Path(directory)), Path(directory), site)
        done = project.run("results/softmax_fwd.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        yield project


def test_everything_from_image_to_table_is_made_in_containers(
    finished: Gem5Project, docker_image: str
) -> None:
    frame = pd.read_csv(finished.root / "results/softmax_fwd.csv")
    assert frame["num_compute_units"].tolist() == [4, 8, 16]
    assert set(frame["status"]) == {"completed"}
    assert set(frame["image_digest"]) == {docker_image}
    for record in (json.loads(path.read_text()) for path in finished.records()):
        assert record["identity"]["image"]["digest"] == docker_image
        assert record["provenance"]["container_engine"] == "docker"
        assert record["provenance"]["dnnmark_commit"]


def test_nothing_is_left_behind_that_is_not_the_callers(finished: Gem5Project) -> None:
    owners = {path.lstat().st_uid for path in finished.root.rglob("*")}
    assert owners == {os.getuid()}


def test_a_second_call_has_nothing_to_do(finished: Gem5Project) -> None:
    done = finished.run("results/softmax_fwd.csv")
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr
