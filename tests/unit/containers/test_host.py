"""Jobs without a container: limits, stops, leftovers."""

from __future__ import annotations

import _ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from apuflow.containers.host import HostEngine
from apuflow.containers.job import Exit, Job, Limits, Sample
from apuflow.core import proc
from apuflow.core.errors import EngineError
from apuflow.core.owner import Labels, Owner
from apuflow.core.proc import command_line, start_time

Run = Callable[..., Exit]


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


def test_words_reach_the_program_unchanged(run: Run, tmp_path: Path) -> None:
    words = ["a b", "$HOME", "`id`", "it's", '"', ";", "*", "", "\n", "ü"]
    run(sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert (tmp_path / "log").read_text() == f"{words}\n"


def test_the_environment_is_the_jobs_own(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this process' only a few are passed on, such as an allocator's library."""
    monkeypatch.setenv("SECRET", "mine")
    monkeypatch.setenv("LD_PRELOAD", _ctypes.__file__)
    code = "import os; e = os.environ; print(e.get('SECRET'), e['HOME'], e['GIVEN'], e['LD_PRELOAD'])"
    run(sys.executable, "-c", code, env={"GIVEN": "1"})
    assert (tmp_path / "log").read_text() == f"None {tmp_path / 'home'} 1 {_ctypes.__file__}\n"


def test_a_wall_limit_asks_then_kills_the_whole_tree(run: Run, tmp_path: Path) -> None:
    polite = "trap 'echo asked; exit 7' INT; while :; do sleep 0.05; done"
    result = run("sh", "-c", polite, limits=Limits(wall_seconds=5, grace_seconds=60))
    assert (result.code, result.stopped) == (7, "wall")
    deaf = "trap '' INT; sleep 987 & echo $! > child; wait; sleep 987"
    result = run("sh", "-c", deaf, limits=Limits(wall_seconds=5, grace_seconds=0.2))
    assert (result.code, result.stopped) == (137, "wall")
    assert start_time(int((tmp_path / "child").read_text())) is None


@pytest.mark.parametrize("wait", ["", "sleep 0.5"], ids=["at once", "after its parent's end"])
@pytest.mark.parametrize("given", ["", "env -i"], ids=["our variables", "none"])
def test_what_gave_itself_a_session_of_its_own_ends_with_the_job(
    run: Run, tmp_path: Path, given: str, wait: str
) -> None:
    own_session = f"setsid {given} sh -c 'echo $$ > part; mv part child; exec sleep 987' & wait"
    until_there = "until [ -e child ]; do sleep 0.05; done"
    run("sh", "-c", f'sh -c "$0" & {until_there}; kill $!; {wait}', own_session)
    assert start_time(int((tmp_path / "child").read_text())) is None


def test_what_a_job_leaves_running_ends_with_it(run: Run, tmp_path: Path) -> None:
    run("sh", "-c", "sleep 987 & echo $! > child")
    assert start_time(int((tmp_path / "child").read_text())) is None


def test_after_a_job_nobody_elses_processes_fall_to_us(run: Run) -> None:
    """Whoever ends jobs by their process groups, as Slurm does, would wait for what we never wait for."""
    run("true")
    shell = subprocess.run(
        ["sh", "-c", "sleep 987 >/dev/null & echo $!"], stdout=subprocess.PIPE, text=True, check=True
    )
    orphan = int(shell.stdout)
    try:
        parent = Path(f"/proc/{orphan}/stat").read_text().rpartition(")")[2].split()[1]
        assert int(parent) != os.getpid()
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_memory_is_counted_over_the_tree(run: Run) -> None:
    hog = "import time; x = bytearray(120 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(600)"
    shell = f'{sys.executable} -c "{hog}" & wait'
    result = run("sh", "-c", shell, limits=Limits(memory_bytes=60 << 20, wall_seconds=300))
    assert (result.oom_killed, result.code, result.stopped) == (True, 137, None)
    assert result.peak_memory_bytes is not None
    assert result.peak_memory_bytes > 60 << 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_stops_the_job_and_gives_the_handlers_back(run: Run, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def interrupt(sample: Sample) -> None:
        os.kill(os.getpid(), number)

    result = run("sleep", "987", on_sample=interrupt)
    assert (result.stopped, result.signal) == ("interrupt", signal.SIGINT)
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
from apuflow.containers.host import HostEngine
from apuflow.containers.job import Job, Limits
from apuflow.core.owner import Labels
project = Path(sys.argv[1])
tree = "sleep 876 & echo $! > child; wait"
labels = Labels.here(project, "p")
HostEngine().run(Job(("sh", "-c", tree), project, project / "home", project / "log", labels))
"""


def sleeping(child: Path) -> int:
    """The process that a shell has named in a file, once it is ``sleep`` and no copy of the shell."""
    deadline = time.monotonic() + 300
    while not (child.exists() and child.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    pid = int(child.read_text())
    while command_line(pid)[0] != b"sleep" and time.monotonic() < deadline:
        time.sleep(0.02)
    return pid


def test_processes_of_a_killed_owner_are_found_and_ended(tmp_path: Path) -> None:
    """kill -9 of the supervisor: its direct child dies with it, what that started is a leftover."""
    owner = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path])
    pid = sleeping(tmp_path / "child")
    assert HostEngine().remove_leftovers(tmp_path) == []  # the owner lives
    owner.kill()
    owner.wait()
    assert start_time(pid) is not None
    assert HostEngine().remove_leftovers(tmp_path / "elsewhere") == []
    removed = HostEngine().remove_leftovers(tmp_path)
    assert [line for line in removed if "sleep 876" in line]
    deadline = time.monotonic() + 300
    while start_time(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert start_time(pid) is None


def test_a_leftover_that_ends_while_it_is_looked_at_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen(["sleep", "874"])
    owner = Owner.of(gone.pid)
    gone.kill()
    gone.wait()
    shell = subprocess.Popen(
        ["sh", "-c", "sleep 875 & echo $! > child; wait"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **Labels(tmp_path.resolve(), "p", owner).as_environment()},
        start_new_session=True,
    )
    sleeping(tmp_path / "child")

    def ends(pid: int) -> list[bytes]:
        if pid == shell.pid:
            shell.kill()
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return command_line(pid)

    monkeypatch.setattr(proc, "command_line", ends)
    removed = HostEngine().remove_leftovers(tmp_path)
    shell.wait()
    assert [line.partition(": ")[2] for line in removed] == ["sleep 875"]


def test_a_job_ends_when_the_workflow_above_it_is_gone(tmp_path: Path) -> None:
    """Snakemake is killed by SIGKILL; the job's own process lives on and has to notice."""
    result = tmp_path / "result"
    inner = (
        "import sys; from pathlib import Path; from apuflow.core.owner import Labels\\n"
        "from apuflow.containers.host import HostEngine; from apuflow.containers.job import Job\\n"
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
    deadline = time.monotonic() + 300
    while not (tmp_path / "running").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    above.kill()
    above.wait()
    while not result.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert result.read_text() == "abandoned"
