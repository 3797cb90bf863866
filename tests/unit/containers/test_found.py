"""Which container engine a site gets that names none."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apuflow.containers.found import DECIDED, Found, find_engine
from apuflow.core.errors import EngineError

Program = Callable[..., None]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Program:
    """A machine with these programs alone, without the decision of the process that started us."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in (DECIDED, "DOCKER_HOST", "CONTAINER_HOST"):
        monkeypatch.delenv(name, raising=False)

    def add(name: str, line: str = "exit 0") -> None:
        (place / name).write_text(f"#!/bin/sh\n{line}\n")
        (place / name).chmod(0o755)

    return add


@contextmanager
def daemon(place: Path, status: str, body: bytes = b"") -> Iterator[list[bytes]]:
    """A daemon that answers every request with this status, as a dockerd that cannot reach its store does."""
    seen: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            seen.append(self.rfile.readline())
            while self.rfile.readline().strip():
                pass
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            self.wfile.write(head.encode() + body)

    with socketserver.ThreadingUnixStreamServer(str(place), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield seen
        server.shutdown()


def test_a_docker_that_fails_is_passed_over_for_apptainer(program: Program, tmp_path: Path) -> None:
    program("apptainer", "echo apptainer version 1.3.4")
    with daemon(tmp_path / "sock", "500 Internal Server Error", b"cannot open the store"):
        found = find_engine(str(tmp_path / "sock"), False)
    assert (found.name, list(found.passed)) == ("apptainer", ["docker", "podman"])
    assert "500" in found.passed["docker"]
    assert str(found).startswith("apptainer, the first that answers; not docker: Docker at unix://")


def test_an_apptainer_that_does_not_start_leaves_the_host_with_its_tools(program: Program) -> None:
    program("apptainer", "echo no setuid >&2; exit 1")
    program("scons")
    program("g++")
    found = find_engine(None, False)
    assert found.name == "host"
    assert found.passed["apptainer"] == "Apptainer does not start"
    assert str(found).startswith("none, the tools of this machine are used; not docker: nothing listens at /")


def test_a_gem5_of_ones_own_needs_no_tools_to_build_it(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_engine(None, True).name == "host"
    monkeypatch.delenv(DECIDED)
    with pytest.raises(EngineError) as caught:
        find_engine(None, False).check()
    text = str(caught.value)
    assert "host: scons and g++ not found" in text and "apptainer: Apptainer is not on this machine" in text
    assert "gem5.binary" in text


def test_a_dead_daemon_is_tried_once_by_a_command_and_the_processes_that_it_starts(
    program: Program, tmp_path: Path
) -> None:
    place = str(tmp_path / "sock")
    with daemon(tmp_path / "sock", "500 Internal Server Error") as requests:
        first = find_engine(place, True)
        tried = len(requests)
        script = f"from apuflow.containers.found import find_engine as find; print(find({place!r}, True))"
        job = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert find_engine(place, True) is first
        assert job.stdout.strip() == str(first)
        assert 0 < tried == len(requests)


def test_a_damaged_decision_is_made_anew(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("docker", '{"name": "lxc"}', '{"engine": "docker"}', "[]"):
        monkeypatch.setenv(DECIDED, text)
        find_engine.cache_clear()
        assert find_engine(None, True).name == "host", text
    monkeypatch.setenv(DECIDED, '{"name": "podman"}')
    find_engine.cache_clear()
    assert find_engine(None, True) == Found("podman")
