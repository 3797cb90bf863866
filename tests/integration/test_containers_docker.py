"""Containers on a real Docker daemon: what jobs see, what they may, how they end, what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docker_daemon import Daemon, load_base

import docker
from apuflow.containers import found
from apuflow.containers.docker import DockerEngine
from apuflow.containers.job import Exit, Job, Limits, Mount, Sample
from apuflow.core.errors import EngineError
from apuflow.core.owner import OWNER, POINT, PROJECT, Labels, Owner

pytestmark = pytest.mark.engine

Run = Callable[..., Exit]

HOG = "x = bytearray(400 << 20); x[::4096] = b'1' * len(x[::4096])"
"""A Python program that needs 400 MiB."""


@pytest.fixture
def engine(docker_url: str) -> DockerEngine:
    return DockerEngine("docker", docker_url)


@pytest.fixture
def directory(tmp_path: Path, engine: DockerEngine) -> Path:
    """A working directory whose name would break any careless quoting (Podman refuses two characters)."""
    name = 'it\'s a "run" dir, $(id) #1: ü'
    path = tmp_path / ("it's a run dir $(id) #1: ü" if engine.daemon.podman else name)
    path.mkdir()
    return path


@pytest.fixture
def run(engine: DockerEngine, docker_image: str, directory: Path) -> Run:
    def run(*command: str, **changes: Any) -> Exit:
        return engine.run(job(command, directory, docker_image, **changes))

    return run


def test_docker_is_found_where_it_answers(docker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(found.DECIDED)
    assert found.find_engine(docker_url, True) == found.Found("docker")


def job(command: tuple[str, ...], directory: Path, image: str, **changes: Any) -> Job:
    values: dict[str, Any] = {
        "mounts": (Mount(directory, writable=True),),
        "limits": Limits(wall_seconds=60, grace_seconds=3),
    }
    return Job(
        command=command,
        cwd=directory,
        home=directory / "home",
        log=directory / "log",
        labels=Labels.here(directory.parent, "u4-0123abcd"),
        image=image,
        **{**values, **changes},
    )


def ours(engine: DockerEngine, project: Path, *, running: bool = False) -> list[str]:
    """Docker lists a container before it finds it by its name; one that runs is found."""
    label = f"{PROJECT}={project.resolve()}"
    found = engine.client.api.containers(all=not running, filters={"label": label})
    return [entry["Id"] for entry in found]


def test_a_job_sees_the_same_path_its_home_and_its_environment(run: Run, directory: Path) -> None:
    code = (
        "import os; print(os.getcwd(), os.environ['HOME'], os.environ['ODD'], sep='\\n'); open('made', 'w')"
    )
    result = run("python3", "-c", code, env={"ODD": "a'b\"c $HOME `id`\nd"})
    assert (result.code, result.signal, result.oom_killed, result.stopped) == (0, None, False, None)
    assert (directory / "log").read_text() == f"{directory}\n{directory}/home\na'b\"c $HOME `id`\nd\n"
    made = (directory / "made").stat()
    assert (made.st_uid, made.st_gid) == (os.getuid(), os.getgid())


def test_output_of_both_streams_is_in_the_log_while_the_job_runs(run: Run, directory: Path) -> None:
    seen: list[str] = []

    def look(sample: Sample) -> None:
        seen.append((directory / "log").read_text())

    result = run("sh", "-c", "echo out; echo err >&2; sleep 1", on_sample=look, sample_seconds=0.2)
    assert result.code == 0
    assert any("out" in text and "err" in text for text in seen)


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("exit 3", 3, None), ("kill -ABRT $$", 134, 6), ("kill -SEGV $$", 139, 11), ("kill -KILL $$", 137, 9)],
)
def test_how_a_job_ends(run: Run, engine: DockerEngine, script: str, code: int, number: int | None) -> None:
    if number is not None and not engine.daemon.init:
        pytest.skip("without an init of the engine the job is process 1, which its own signals cannot end")
    result = run("sh", "-c", script)
    assert (result.code, result.signal, result.oom_killed) == (code, number, False)


def test_running_out_of_memory_is_told_from_other_kills(run: Run) -> None:
    result = run("python3", "-c", HOG, limits=Limits(memory_bytes=64 << 20))
    assert (result.oom_killed, result.code) == (True, 137)


def test_a_job_is_not_blamed_for_another_that_ran_out_of_memory(run: Run, engine: DockerEngine) -> None:
    if not engine.daemon.init or os.geteuid() != 0:
        pytest.skip("needs an init of the engine, and root to read the kernel's log")
    beside: list[Exit] = []

    def start_another(sample: Sample) -> None:
        if not beside:
            beside.append(run("python3", "-c", HOG, limits=Limits(memory_bytes=64 << 20)))

    result = run("sh", "-c", "sleep 2; kill -KILL $$", on_sample=start_another, sample_seconds=0.2)
    assert beside[0].oom_killed
    assert (result.signal, result.oom_killed) == (9, False)


def test_peak_memory_is_seen(run: Run) -> None:
    hold = "import time; x = bytearray(80 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(1.5)"
    result = run("python3", "-c", hold, sample_seconds=0.3)
    assert result.peak_memory_bytes is not None
    assert 80 << 20 <= result.peak_memory_bytes < 160 << 20


def test_a_wall_limit_asks_first(run: Run, directory: Path) -> None:
    polite = "trap 'echo asked; exit 7' INT; while :; do sleep 0.05; done"
    result = run("sh", "-c", polite, limits=Limits(wall_seconds=1, grace_seconds=20))
    assert (result.code, result.stopped) == (7, "wall")
    assert "asked" in (directory / "log").read_text()
    assert result.seconds < 15


def test_a_job_that_does_not_listen_is_killed(run: Run) -> None:
    deaf = "trap '' INT TERM; while :; do sleep 0.05; done"
    result = run("sh", "-c", deaf, limits=Limits(wall_seconds=3, grace_seconds=0.5))
    assert (result.code, result.stopped, result.oom_killed) == (137, "wall", False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_stops_the_job_and_leaves_no_container(
    engine: DockerEngine, docker_image: str, directory: Path, number: signal.Signals
) -> None:
    def interrupt(sample: Sample) -> None:
        os.kill(os.getpid(), number)

    limits = Limits(grace_seconds=1)
    result = engine.run(job(("sleep", "60"), directory, docker_image, limits=limits, on_sample=interrupt))
    assert result.stopped == "interrupt"
    assert ours(engine, directory.parent) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_job_has_no_rights_and_no_network(run: Run, engine: DockerEngine, directory: Path) -> None:
    code = (
        "import os, socket\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "status = dict(line.split(':\\t') for line in lines if ':\\t' in line)\n"
        "print(status['CapEff'], status['CapPrm'], status['NoNewPrivs'])\n"
        "print(sorted(os.listdir('/sys/class/net')))\n"
        "print(os.path.exists('/work'), os.path.exists('/var/run/docker.sock'))\n"
    )
    assert run("python3", "-c", code).code == 0
    rights, interfaces, visible = (directory / "log").read_text().splitlines()
    assert rights == f"{'0' * 16} {'0' * 16} 1"
    assert interfaces == "['lo']"
    assert visible == "False False"


def test_mounts_are_read_only_unless_asked(run: Run, directory: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "data").write_text("precious")
    result = run(
        "sh",
        "-c",
        f"cat {inputs}/data && echo x > {inputs}/data",
        mounts=(Mount(directory, True), Mount(inputs)),
    )
    assert result.code != 0
    assert (inputs / "data").read_text() == "precious"
    assert "Read-only file system" in (directory / "log").read_text()


def test_containers_carry_labels_and_a_dead_owners_are_removed(
    engine: DockerEngine, docker_url: str, docker_image: str, directory: Path, tmp_path: Path
) -> None:
    project = directory.parent
    script = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[4:]\n"
        "from test_containers_docker import job; from apuflow.containers.docker import DockerEngine\n"
        "DockerEngine('docker', sys.argv[1]).run(job(('sleep', '300'), Path(sys.argv[2]), sys.argv[3]))\n"
    )
    here = [str(place) for place in Path(__file__).parents[:2]]
    victim = subprocess.Popen([sys.executable, "-c", script, docker_url, directory, docker_image, *here])
    deadline = time.monotonic() + 30
    while not ours(engine, project, running=True) and time.monotonic() < deadline:
        time.sleep(0.05)
    [identifier] = ours(engine, project)
    labels = engine.client.api.inspect_container(identifier)["Config"]["Labels"]
    assert labels[POINT] == "u4-0123abcd"
    assert Owner.parse(labels[OWNER]).pid == victim.pid  # type: ignore[union-attr]
    assert engine.remove_leftovers(project) == []  # its owner lives
    victim.kill()
    victim.wait()
    assert engine.remove_leftovers(tmp_path / "another project") == []
    assert len(engine.remove_leftovers(project)) == 1
    assert ours(engine, project) == []


@pytest.mark.parametrize(
    ("command", "image", "message"),
    [(("true",), "nonesuch:never", "no such image"), (("true",), "Bad Name!", "cannot create a container")],
)
def test_a_wrong_image_is_said(
    engine: DockerEngine, directory: Path, command: tuple[str, ...], image: str, message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        engine.run(job(command, directory, image))


def test_a_missing_program_does_not_pass_for_a_result(run: Run, directory: Path) -> None:
    try:
        result = run("/nonesuch/gem5.opt")
    except EngineError as error:
        assert "gem5.opt" in str(error)
    else:
        assert result.code == 127
        assert "No such file" in (directory / "log").read_text()


def test_no_engine_and_no_permission_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="nothing listens"):
        DockerEngine("docker", str(tmp_path / "sock")).check()
    (tmp_path / "stopped").touch()
    with pytest.raises(EngineError, match="does not answer"):
        DockerEngine("docker", str(tmp_path / "stopped")).check()


def test_an_engine_that_is_stopped_in_the_middle_ends_the_job(own_daemon: Daemon, directory: Path) -> None:
    image = load_base(own_daemon.url)
    engine = DockerEngine("docker", own_daemon.url)
    engine.away_seconds = 2.0
    client = docker.DockerClient(base_url=own_daemon.url)

    def stop() -> None:
        while not client.containers.list():
            time.sleep(0.05)
        time.sleep(0.5)
        own_daemon.process.terminate()

    threading.Thread(target=stop, daemon=True).start()
    result = engine.run(job(("sleep", "60"), directory, image))
    assert result.code != 0
    with pytest.raises(EngineError, match=r"does not answer|nothing listens"):
        DockerEngine("docker", own_daemon.url).check()


def test_an_unknown_uid_can_run(docker_url: str, docker_image: str, directory: Path) -> None:
    """A uid without a passwd entry, as on clusters: the container must not care."""
    directory.chmod(0o777)
    client = docker.DockerClient(base_url=docker_url)
    engine = DockerEngine("docker", docker_url)
    made = job(
        ("python3", "-c", "import os; open('made', 'w'); print(os.path.expanduser('~'))"),
        directory,
        docker_image,
    )
    made.home.mkdir()
    configuration = engine.configuration(made)
    configuration["User"] = "54321:54321"
    container = client.api.create_container_from_config(configuration)  # type: ignore[no-untyped-call]
    try:
        client.api.start(container["Id"])
        assert client.api.wait(container["Id"])["StatusCode"] == 0
    finally:
        client.api.remove_container(container["Id"], force=True)
    assert (directory / "made").stat().st_uid == 54321
