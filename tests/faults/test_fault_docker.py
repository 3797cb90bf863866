"""Faults of containers and their daemon, on a real one: killed, out of memory, stopped, slow, orphaned."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker_daemon
import needs
import pytest
from standins.repositories import behave, make_gem5

import docker
from apuflow.containers.docker import DockerEngine
from apuflow.containers.job import Limits, Mount
from apuflow.core.errors import AnalysisError
from apuflow.core.owner import POINT, PROJECT
from apuflow.core.record import Status, read_run
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, RunFailed, Simulation
from apuflow.run.status import RunState, runs
from apuflow_analysis.tables import tables

pytestmark = pytest.mark.engine

MARKER = "all is well"
Make = Callable[..., Simulation]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Where projects stand: a daemon of its own mount sees /var/tmp."""
    directory = Path(f"/var/tmp/apuflow-fault-containers-{os.getpid()}")
    directory.mkdir()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def gem5(place: Path) -> Gem5:
    root = make_gem5(place / "gem5").path
    subprocess.run([sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"], cwd=root, check=True)
    return Gem5(root / "build/GCN3_X86/gem5.opt", root / "configs/example/apu_se.py")


@pytest.fixture
def make(place: Path, gem5: Gem5, docker_url: str, docker_image: str, request: Any) -> Make:
    """Makes a point that runs in a container and behaves as said."""
    project = place / f'it\'s "{request.node.name[-40:]}" $(id)'
    programs = project / "programs"
    programs.mkdir(parents=True)
    (programs / "program").write_text(f"#!program\n{MARKER}\n")

    def simulation(behaviour: str = "ok", url: str = docker_url, **changes: Any) -> Simulation:
        behave(gem5.binary, {"--cmd=": behaviour})
        options: dict[str, int | str] = {"num-compute-units": 4, "gfx-version": "gfx801"}
        guest = Guest(programs, "program")
        values: dict[str, Any] = {
            "project": project,
            "run_dir": project / "runs/gem5/demo/u4-0123abcd",
            "point": PointFacts("gem5", "demo", None, "u4-0123abcd", {}, {}, options, "gfx801", "v22.1"),
            "gem5": gem5,
            "process": Process(guest, options, Expectation(end_marker=MARKER)),
            "container": DockerEngine("docker", url),
            "image": docker_image,
            "mounts": (Mount(programs), Mount(gem5.binary.parents[2])),
            "limits": Limits(wall_seconds=60, grace_seconds=2),
        }
        return Simulation(**{**values, **changes})

    return simulation


def containers(url: str, simulation: Simulation) -> list[dict[str, Any]]:
    found = docker.DockerClient(base_url=url).api.containers(
        all=True, filters={"label": f"{PROJECT}={simulation.project.resolve()}"}
    )
    return list(found)


def when_running(simulation: Simulation, url: str, action: Callable[[str], None]) -> threading.Thread:
    """Do something to the container as soon as gem5 in it simulates."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            logs = simulation.run_dir.glob("attempts/*/m5out/simerr")
            if any("event queue" in log.read_text() for log in logs):
                action(containers(url, simulation)[0]["Id"])
                return
            time.sleep(0.05)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def completes(make: Make, docker_url: str) -> None:
    """The rerun: proven, one row, no container left, nothing of another user's."""
    simulation = make("ok")
    assert simulate(simulation).status is Status.COMPLETED
    assert tables.build([simulation.run_dir])["status"].tolist() == ["completed"]
    assert containers(docker_url, simulation) == []
    assert {path.stat().st_uid for path in simulation.run_dir.rglob("*")} == {os.getuid()}


@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM"])
def test_a_container_killed_by_a_stranger_is_an_interrupted_run(
    make: Make, docker_url: str, number: str
) -> None:
    simulation = make("hang", on_failure="record")
    client = docker.DockerClient(base_url=docker_url)
    when_running(simulation, docker_url, lambda name: client.api.kill(name, number))
    with pytest.raises(RunFailed, match="interrupted"):
        simulate(simulation)
    assert not (simulation.run_dir / "run.json").exists()
    completes(make, docker_url)


def test_a_container_removed_by_a_stranger_is_an_interrupted_run(make: Make, docker_url: str) -> None:
    simulation = make("hang", on_failure="record")
    client = docker.DockerClient(base_url=docker_url)
    when_running(simulation, docker_url, lambda name: client.api.remove_container(name, force=True))
    with pytest.raises(RunFailed, match="interrupted"):
        simulate(simulation)
    completes(make, docker_url)


def test_a_container_out_of_memory_is_told_from_a_kill(make: Make, docker_url: str) -> None:
    simulation = make("oom", limits=Limits(memory_bytes=128 << 20, wall_seconds=60))
    with pytest.raises(RunFailed, match="host_out_of_memory") as caught:
        simulate(simulation)
    assert "134,217,728" in caught.value.record.evidence
    completes(make, docker_url)


def test_an_endless_run_in_a_container_ends_at_its_wall_limit(make: Make, docker_url: str) -> None:
    simulation = make("hang", limits=Limits(wall_seconds=2, grace_seconds=5))
    with pytest.raises(RunFailed, match="timeout"):
        simulate(simulation)
    completes(make, docker_url)


def test_the_container_of_a_killed_owner_is_removed_by_the_next_start(make: Make, docker_url: str) -> None:
    simulation = make("hang")
    packed = simulation.project / "simulation"
    packed.write_bytes(pickle.dumps(simulation))
    code = (
        "import pickle, sys; from apuflow.run.attempt import simulate;"
        "simulate(pickle.load(open(sys.argv[1], 'rb')))"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, packed], stderr=subprocess.DEVNULL)
    killed = when_running(simulation, docker_url, lambda name: owner.send_signal(signal.SIGKILL))
    killed.join(60)
    owner.wait(10)
    [left] = containers(docker_url, simulation)
    assert left["Labels"][POINT] == "u4-0123abcd"
    assert [run.state for run in runs(simulation.project)] == [RunState.LOST]
    completes(make, docker_url)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_that_ends_in_the_middle_loses_the_run_and_not_the_point(
    make: Make, own_daemon: docker_daemon.Daemon, docker_url: str, number: signal.Signals
) -> None:
    image = docker_daemon.load_base(own_daemon.url)
    simulation = make("hang", own_daemon.url, image=image, on_failure="record")
    simulation.container.away_seconds = 2.0  # type: ignore[attr-defined]
    when_running(simulation, own_daemon.url, lambda name: own_daemon.process.send_signal(number))
    try:
        with pytest.raises(RunFailed, match="interrupted"):
            simulate(simulation)
        own_daemon.process.wait(30)
        assert not (simulation.run_dir / "run.json").exists()
        completes(make, docker_url)
    finally:
        end_orphans(own_daemon)


@pytest.fixture
def daemon() -> Iterator[docker_daemon.Daemon]:
    """A daemon that can be started again."""
    daemon = docker_daemon.start(own_containerd=True)
    if daemon is None:
        needs.DOCKER.skip()
    yield daemon
    daemon.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_restarted_in_the_middle_interrupts_the_run_and_the_rerun_completes(
    make: Make, daemon: docker_daemon.Daemon, number: signal.Signals
) -> None:
    """Without live-restore: its containers end with it (SIGTERM), or when it starts again (SIGKILL)."""
    image = docker_daemon.load_base(daemon.url)
    simulation = make("hang", daemon.url, image=image, on_failure="record")
    restarted = when_running(simulation, daemon.url, lambda name: daemon.restart(number))
    try:
        with pytest.raises(RunFailed, match="interrupted") as caught:
            simulate(simulation)
        restarted.join(60)
        evidence = caught.value.record.evidence
        assert "the container engine went away" in evidence or "from outside by SIG" in evidence
        assert not (simulation.run_dir / "run.json").exists()
        with pytest.raises(AnalysisError):
            tables.build([simulation.run_dir])
        assert not [c for c in containers(daemon.url, simulation) if c["State"] == "running"]
        assert simulate(make("ok", daemon.url, image=image)).status is Status.COMPLETED
        assert tables.build([simulation.run_dir])["status"].tolist() == ["completed"]
        assert not [c for c in containers(daemon.url, simulation) if c["State"] == "running"]
    finally:
        end_orphans(daemon)


def end_orphans(daemon: docker_daemon.Daemon) -> None:
    """Containers outlive a daemon that is killed outright, until it starts again: end them here."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(daemon.directory).encode() in (entry / "cmdline").read_bytes():
                children = (entry / f"task/{entry.name}/children").read_text().split()
                for pid in (*children, entry.name):
                    os.kill(int(pid), signal.SIGKILL)
    for line in Path("/proc/mounts").read_text().splitlines():
        if str(daemon.directory) in line:
            subprocess.run(["umount", "-l", line.split()[1]], check=False)


class SlowSocket:
    """A daemon's socket whose answers come late."""

    def __init__(self, path: Path, behind: str, seconds: float) -> None:
        self.url = f"unix://{path}"
        self._behind, self._seconds = behind.removeprefix("unix://"), seconds
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(self._behind)
            for source, target, wait in ((client, daemon, 0.0), (daemon, client, self._seconds)):
                threading.Thread(target=self._pump, args=(source, target, wait), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket, wait: float) -> None:
        try:
            while data := source.recv(65536):
                time.sleep(wait)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.close()


def test_a_slow_engine_slows_a_run_and_loses_nothing(make: Make, docker_url: str, tmp_path: Path) -> None:
    slow = SlowSocket(tmp_path / "sock", docker_url, 0.4)
    try:
        simulation = make("slow 1", slow.url)
        assert simulate(simulation).status is Status.COMPLETED
        assert read_run(simulation.run_dir / "run.json").exit_code == 0
        assert containers(docker_url, simulation) == []
    finally:
        slow.close()


def test_a_full_disk_in_a_container_is_said(
    make: Make, docker_url: str, mounted: Callable[..., Path]
) -> None:
    simulation = make("ok", on_failure="record")
    mounted(simulation.project / "runs", "size=1m")
    ballast = simulation.project / "runs/ballast"
    ballast.write_bytes(b"x" * ((1 << 20) - (100 << 10)))
    with pytest.raises(RunFailed, match="disk is full"):
        simulate(simulation)
    assert not (simulation.run_dir / "run.json").exists()


def test_the_container_of_a_run_has_no_rights_it_does_not_need(
    make: Make, docker_url: str, gem5: Gem5
) -> None:
    simulation = make("hang", limits=Limits(memory_bytes=1 << 30, wall_seconds=60, grace_seconds=2))
    client = docker.DockerClient(base_url=docker_url)
    seen: list[dict[str, Any]] = []

    def look(name: str) -> None:
        seen.append(client.api.inspect_container(name))
        client.api.kill(name, "SIGKILL")

    when_running(simulation, docker_url, look)
    with pytest.raises(RunFailed):
        simulate(simulation)
    [container] = seen
    host, config = container["HostConfig"], container["Config"]
    assert host["Privileged"] is False
    assert host["CapDrop"] == ["ALL"] and not host["CapAdd"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["NetworkMode"] == "none"
    assert host["PidMode"] == "" and host["IpcMode"] in ("private", "shareable", "")
    assert not host["Devices"] and not host["Binds"] and not host["VolumesFrom"]
    assert host["Memory"] == host["MemorySwap"] == 1 << 30
    assert 0 < host["PidsLimit"] <= 8192
    assert config["User"] == f"{os.getuid()}:{os.getgid()}"
    mounts = {mount["Source"]: mount["RW"] for mount in container["Mounts"]}
    attempt = simulation.run_dir / "attempts/1"
    assert mounts == {
        str(attempt): True,
        str(simulation.project / "programs"): False,
        str(gem5.binary.parents[2]): False,
    }
