"""Container engines by their names."""

from __future__ import annotations

import pytest

from apuflow.containers.found import container_engine
from apuflow.containers.sockets import candidate_urls
from apuflow.core.errors import ConfigError


def test_engines_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [container_engine(name).name for name in ("docker", "podman", "apptainer", "host")] == [
        "docker", "podman", "apptainer", "host",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="unknown container engine"):
        container_engine("lxc")
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    assert candidate_urls("docker") == ["tcp://elsewhere:2375"]
    assert candidate_urls("docker", "/my/sock") == ["unix:///my/sock"]
    monkeypatch.delenv("DOCKER_HOST")
    assert candidate_urls("docker")[0] == "unix:///var/run/docker.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert candidate_urls("podman")[0] == "unix:///run/user/7/podman/podman.sock"


def test_a_user_without_a_home_has_no_socket_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """`docker run -u 12345` without HOME: the list of users has no entry, and Python names no home."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/12345")

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    found = ["unix:///var/run/docker.sock", "unix:///run/user/12345/docker.sock"]
    assert candidate_urls("docker") == found
