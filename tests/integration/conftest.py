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


@pytest.fixture
def gem5(new_project: Callable[[Path], Path]) -> Iterator[Gem5Project]:
    """A project of stand-ins that runs on the host, outside /tmp, which a program inside gem5 cannot see."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        root = new_project(Path(directory))
        yield gem5_project.make(root, Path(directory), {"container": "host"})
