"""Jobs without a container: limits, stops, leftovers; and who owns what."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apuflow.containers import Exit, HostEngine, Job, Labels, Limits, Owner, Sample, container_engine
from apuflow.containers.apptainer import ApptainerEngine
from apuflow.containers.docker_connection import candidate_urls
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.owner import is_leftover
from apuflow.core.proc import boot_id, process_tree, start_time
from apuflow.prepare.images import ImageRecord, resolve_image

Run = Callable[..., Exit]


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    def job(*command: str, **changes: Any) -> Job:
        made = Job(command, tmp_path, tmp_path / "home", tmp_path / "log", Labels.here(tmp_path, "u4"))
        return replace(made, **{"limits": Limits(wall_seconds=60, grace_seconds=2), **changes})

    return job


@pytest.fixture
def run(job: Callable[..., Job]) -> Run:
    return lambda *command, **changes: HostEngine().run(job(*command, **changes))


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -ABRT $$", 134, 6), ("kill -KILL $$", 137, 9)],
)
def test_how_a_job_ends(run: Run, script: str, code: int, number: int | None) -> None:
    result = run("sh", "-c", script)
    assert (result.code, result.signal, result.oom_killed, result.stopped) == (code, number, False, None)


def test_processes_that_end_while_they_are_looked_at() -> None:
    """A look at a run's memory must not end it: its short-lived children come and go between two reads."""
    script = "i=0; while [ $i -lt 1500 ]; do (:) & i=$((i+1)); done; wait"
    with subprocess.Popen(["sh", "-c", script]) as busy:
        while busy.poll() is None:
            assert process_tree(busy.pid)[0] == busy.pid


def test_words_reach_the_program_unchanged(run: Run, tmp_path: Path) -> None:
    words = ["a b", "$HOME", "`id`", "it's", '"', ";", "*", "", "\n", "ü"]
    run(sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert (tmp_path / "log").read_text() == f"{words}\n"


def test_the_environment_is_the_jobs_own(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "mine")
    code = "import os; print(os.environ.get('SECRET'), os.environ['HOME'], os.environ['GIVEN'])"
    run(sys.executable, "-c", code, env={"GIVEN": "1"})
    assert (tmp_path / "log").read_text() == f"None {tmp_path / 'home'} 1\n"


def test_a_wall_limit_asks_then_kills_the_whole_tree(run: Run, tmp_path: Path) -> None:
    polite = "trap 'echo asked; exit 7' INT; while :; do sleep 0.05; done"
    result = run("sh", "-c", polite, limits=Limits(wall_seconds=0.3, grace_seconds=30))
    assert (result.code, result.stopped) == (7, "wall")
    deaf = "trap '' INT; sleep 987 & echo $! > child; wait; sleep 987"
    result = run("sh", "-c", deaf, limits=Limits(wall_seconds=0.5, grace_seconds=0.2))
    assert (result.code, result.stopped) == (137, "wall")
    assert start_time(int((tmp_path / "child").read_text())) is None


def test_what_a_job_leaves_running_ends_with_it(run: Run, tmp_path: Path) -> None:
    run("sh", "-c", "sleep 987 & echo $! > child")
    assert start_time(int((tmp_path / "child").read_text())) is None


def test_memory_is_counted_over_the_tree(run: Run) -> None:
    hog = "import time; x = bytearray(120 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(20)"
    shell = f'{sys.executable} -c "{hog}" & wait'
    result = run("sh", "-c", shell, limits=Limits(memory_bytes=60 << 20, wall_seconds=30))
    assert (result.oom_killed, result.code, result.stopped) == (True, 137, None)
    assert result.peak_memory_bytes is not None
    assert result.peak_memory_bytes > 60 << 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_stops_the_job_and_gives_the_handlers_back(run: Run, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def interrupt(sample: Sample) -> None:
        os.kill(os.getpid(), number)

    result = run("sleep", "60", on_sample=interrupt)
    assert result.stopped == "interrupt"
    assert result.seconds < 30
    assert signal.getsignal(number) is before


def test_a_program_that_cannot_start_is_said(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "not a program"
    script.write_text("x")
    for command in ("/nonesuch/gem5.opt", str(script)):
        with pytest.raises(EngineError, match="cannot start"):
            run(command)


KILLED = """
import sys
from pathlib import Path
from apuflow.containers import HostEngine, Job, Labels, Limits
project = Path(sys.argv[1])
tree = "sleep 876 & echo $! > child; wait"
labels = Labels.here(project, "p")
HostEngine().run(Job(("sh", "-c", tree), project, project / "home", project / "log", labels))
"""


def test_processes_of_a_killed_owner_are_found_and_ended(tmp_path: Path) -> None:
    """kill -9 of the supervisor: its direct child dies with it, what that started is a leftover."""
    owner = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path])
    child = tmp_path / "child"
    deadline = time.monotonic() + 20
    while not (child.exists() and child.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    pid = int(child.read_text())
    assert HostEngine().remove_leftovers(tmp_path) == []  # the owner lives
    owner.kill()
    owner.wait()
    assert start_time(pid) is not None
    assert HostEngine().remove_leftovers(tmp_path / "elsewhere") == []
    removed = HostEngine().remove_leftovers(tmp_path)
    assert [line for line in removed if "sleep 876" in line]
    deadline = time.monotonic() + 10
    while start_time(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert start_time(pid) is None


def test_owners_are_told_apart() -> None:
    me = Owner.current()
    assert Owner.parse(str(me)) == me
    assert not me.is_dead()
    assert replace(me, started=me.started + 1).is_dead()  # the number was given to another process
    assert replace(me, boot="an earlier boot").is_dead()
    assert not replace(me, host="another machine", pid=1 << 21).is_dead()  # cannot be known from here
    assert me.boot == boot_id()
    for text in ("", "a/b", "a/b/c/d", "host/boot/12/x"):
        assert Owner.parse(text) is None


def test_only_this_projects_dead_are_leftovers(tmp_path: Path) -> None:
    labels = Labels.here(tmp_path, "p")
    assert not is_leftover(labels.as_dict(), tmp_path)
    dead = replace(labels, owner=replace(labels.owner, started=1)).as_dict()
    assert is_leftover(dead, tmp_path)
    assert not is_leftover(dead, tmp_path / "other")
    assert not is_leftover({**dead, "org.apuflow.owner": "nonsense"}, tmp_path)


def test_a_job_ends_when_the_workflow_above_it_is_gone(tmp_path: Path) -> None:
    """Snakemake is killed by SIGKILL; the job's own process lives on and has to notice."""
    result = tmp_path / "result"
    inner = (
        "import sys; from pathlib import Path; from apuflow.containers import *\\n"
        f"p = Path({str(tmp_path)!r})\\n"
        "made = HostEngine().run(Job(('sleep', '60'), p, p / 'home', p / 'log', Labels.here(p, 'p'), "
        "on_sample=lambda s: (p / 'running').touch()))\\n"
        "(p / 'part').write_text(str(made.stopped)); (p / 'part').rename(p / 'result')"
    )
    workflow = tmp_path / "snakemake"
    workflow.write_text(
        f'import subprocess, sys\nsubprocess.Popen([sys.executable, \'-c\', """{inner}"""]).wait()\n'
    )
    above = subprocess.Popen([sys.executable, workflow])
    deadline = time.monotonic() + 30
    while not (tmp_path / "running").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    above.kill()
    above.wait()
    while not result.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert result.read_text() == "abandoned"


def test_apptainers_command_line(job: Callable[..., Job], tmp_path: Path) -> None:
    from apuflow.containers import Mount

    made = job(
        "gem5.opt", "-r", image="/images/gcn.sif", mounts=(Mount(tmp_path, True), Mount(Path("/g em5")))
    )
    words = ApptainerEngine("/usr/bin/apptainer").command(made)
    assert words[:3] == ("/usr/bin/apptainer", "--silent", "exec")
    assert {"--containall", "--cleanenv", "--no-privs"} <= set(words)
    assert words[words.index("--network") + 1] == "none"
    binds = [words[i + 1] for i, word in enumerate(words) if word == "--bind"]
    assert binds == [f"{tmp_path}:{tmp_path}:rw", "/g em5:/g em5:ro"]
    at = words.index("/images/gcn.sif")
    assert words[at - 2 : at] == ("--pwd", str(tmp_path))
    assert words[at + 1 :] == ("/usr/bin/env", f"HOME={tmp_path / 'home'}", "gem5.opt", "-r")
    odd = replace(made, mounts=(Mount(Path("/a,b")),))
    with pytest.raises(EngineError, match="comma or colon"):
        ApptainerEngine("/usr/bin/apptainer").command(odd)


def test_apptainer_runs_through_its_tool(job: Callable[..., Job], tmp_path: Path) -> None:
    """With a stand-in of the tool that runs the command as it is: exit, log and limits are ours."""
    tool = tmp_path / "apptainer"
    tool.write_text('#!/bin/sh\nwhile [ "$1" != x.sif ]; do shift; done\nshift\nexec "$@"\n')
    tool.chmod(0o755)
    engine = ApptainerEngine(str(tool))
    assert engine.run(job("sh", "-c", "echo $HOME; exit 5", image="x.sif")).code == 5
    assert (tmp_path / "log").read_text() == f"{tmp_path / 'home'}\n"
    hang = job("sleep", "60", image="x.sif", limits=Limits(wall_seconds=0.3, grace_seconds=1))
    assert engine.run(hang).stopped == "wall"


def test_an_apptainer_image_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    tool, images, log = tmp_path / "apptainer", tmp_path / "images", tmp_path / "pull.log"
    engine = ApptainerEngine(str(tool))

    def pull() -> ImageRecord:
        return resolve_image(engine, "pull", name="ghcr.io/gem5/gcn-gpu:v22", directory=images, log=log)

    tool.write_text('#!/bin/sh\nprintf half > "$3"\necho no network\nexit 1\n')
    tool.chmod(0o755)
    with pytest.raises(EngineError, match="cannot pull docker://"):
        pull()
    assert list(images.iterdir()) == [] and "no network" in log.read_text()
    tool.write_text('#!/bin/sh\nprintf image > "$3"\n')
    image = images / "ghcr.io_gem5_gcn-gpu_v22.sif"
    assert pull().reference == str(image)
    assert list(images.iterdir()) == [image] and image.read_text() == "image"


def test_an_absent_apptainer_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="Apptainer is not on this machine"):
        ApptainerEngine().check()


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
