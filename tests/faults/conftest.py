"""Fixtures of the fault matrix: copies of a finished project to break."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import needs
import pytest
from gem5_project import Gem5Project
from places import ROOT

# The same project, daemon and image as the integration tests have.
_spec = importlib.util.spec_from_file_location("container_fixtures", ROOT / "tests/integration/conftest.py")
assert _spec is not None and _spec.loader is not None
_containers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_containers)
docker_url, docker_image, own_daemon, made = (
    _containers.docker_url,
    _containers.docker_image,
    _containers.own_daemon,
    _containers.made,
)

CopyProject = Callable[[], Gem5Project]


@pytest.fixture
def copies(made: Gem5Project) -> Iterator[CopyProject]:
    """Makes copies of the finished project that stand on their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-fault-") as directory:
        number = 0

        def copy() -> Gem5Project:
            nonlocal number
            number += 1
            return made.copy(Path(directory) / f'it\'s "copy" {number} $(touch x) #ü')

        yield copy


@pytest.fixture
def project_copy(copies: CopyProject) -> Gem5Project:
    return copies()


@pytest.fixture
def two(project_copy: Gem5Project) -> Gem5Project:
    """A sweep of a point that is done (4 CUs) and one that is not (8 CUs)."""
    project_copy.sweep("two", axes={"num-compute-units": [4, 8]})
    return project_copy


@pytest.fixture
def mounted() -> Iterator[Callable[..., Path]]:
    """Mounts a small file system at a directory (``size=1m``, ``ro`` ...); root alone can."""
    if os.getuid() != 0:
        needs.MOUNT.skip()
    places: list[Path] = []

    def mount(place: Path, options: str, source: Path | None = None) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        if source is None:
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        else:
            subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
            command = ["mount", "-o", f"remount,bind,{options}", str(place)]
        places.append(place)
        subprocess.run(command, check=True)
        return place

    yield mount
    for place in reversed(places):
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["umount", "-l", str(place)], check=True)
