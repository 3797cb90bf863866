"""Fixtures of the tests with real engines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import gem5_project
import needs
import pytest
from docker_daemon import Daemon, answers, load_base, start
from gem5_project import Gem5Project
from installed import Machine
from places import made_once


@pytest.fixture(scope="session")
def docker_url() -> Iterator[str]:
    """Address of a Docker daemon: DOCKER_HOST, the machine's own, or one started for the session."""
    for url in (os.environ.get("DOCKER_HOST"), "unix:///var/run/docker.sock"):
        if url and answers(url):
            yield url
            return
    daemon = start()
    if daemon is None:
        needs.DOCKER.skip()
    yield daemon.url
    daemon.stop()


@pytest.fixture(scope="session")
def docker_image(docker_url: str) -> str:
    """An image with python3, make and the stand-in scons."""
    return load_base(docker_url)


@pytest.fixture
def own_daemon() -> Iterator[Daemon]:
    """A daemon that a test may stop."""
    daemon = start()
    if daemon is None:
        needs.DOCKER.skip()
    yield daemon
    daemon.stop()


@pytest.fixture(scope="session")
def made(new_project: Callable[[Path], Path]) -> Gem5Project:
    """A finished project, which nobody changes."""
    return gem5_project.made(new_project)


@pytest.fixture(scope="session")
def machine() -> Machine:
    return Machine(made_once("machine", Machine.install))


@pytest.fixture
def gem5(made: Gem5Project) -> Iterator[Gem5Project]:
    """A project of stand-ins that runs on the host, with one finished run."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        yield made.copy(Path(directory) / "project")
