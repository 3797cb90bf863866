"""When a lock may go, whose files are from the future, and which tools are what their records say."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gem5_project import Gem5Project

from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.owner import Owner
from apuflow.plan import repairs
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest
from apuflow.prepare.builds import DnnmarkRecord, Gem5Record, check_dnnmark, existing_dnnmark, unchanged_gem5
from apuflow.prepare.records import read_record
from apuflow.results.write import check_rows

DEAD = f"{os.uname().nodename}/00000000-0000-0000-0000-000000000000/1/1"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A project with the locks of two workflows. They go at the end: this process is told of those left."""
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    for name in ("0.input.lock", "0.output.lock", "1.output.lock"):
        (locks / name).write_text("results/a.csv\n")
    (tmp_path / ".snakemake/apuflow/workflows").mkdir(parents=True)
    yield tmp_path
    shutil.rmtree(locks, ignore_errors=True)


@pytest.fixture
def living() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def locks(project: Path) -> int:
    return len(list((project / ".snakemake/locks").iterdir()))


def entry(project: Path, name: str, text: str) -> Path:
    path = project / ".snakemake/apuflow/workflows" / name
    path.write_text(text + "\n")
    return path


def test_locks_of_the_dead_go_with_their_entries(locked: Path) -> None:
    dead = [entry(locked, "1-1", DEAD), entry(locked, "2-1", DEAD)]
    registration = repairs.register(locked)
    assert locks(locked) == 0
    assert not any(path.exists() for path in dead)
    assert registration is not None
    registration.end()
    assert not list((locked / ".snakemake/apuflow/workflows").iterdir())


@pytest.mark.parametrize(
    "other",
    [DEAD.replace(os.uname().nodename, "another-host"), f"{DEAD}\njobs elsewhere", "damaged", ""],
    ids=["another host", "jobs elsewhere", "damaged", "empty"],
)
def test_locks_stay_where_death_is_not_certain(locked: Path, other: str) -> None:
    entry(locked, "1-1", DEAD)
    entry(locked, "2-1", other)
    registration = repairs.register(locked)
    assert locks(locked) == 3
    assert registration is not None
    registration.end()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (DEAD.replace(os.uname().nodename, "another-host"), "process 1 on another-host"),
        (f"{DEAD}\njobs elsewhere", "was killed while its jobs ran on other machines"),
    ],
    ids=["another host", "jobs elsewhere"],
)
def test_a_lock_that_stays_is_explained_with_the_command(
    locked: Path, other: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry(locked, "1-1", other)
    registration = repairs.register(locked)
    assert registration is not None
    registration.end()
    told = capsys.readouterr().err
    assert said in told and "\n    snakemake --unlock\n" in told
    for lock in (locked / ".snakemake/locks").iterdir():  # what that command does
        lock.unlink()
    repairs.register(locked)
    assert capsys.readouterr().err == ""


def test_locks_stay_where_the_file_system_has_none_of_its_own(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    entry(locked, "1-1", DEAD)
    repairs.register(locked)
    assert locks(locked) == 3


def test_locks_of_the_living_stay(locked: Path, living: subprocess.Popen[bytes]) -> None:
    entry(locked, "1-1", str(Owner.of(living.pid)))
    repairs.register(locked)
    assert locks(locked) == 3


def test_locks_that_nobody_registered_stay(locked: Path) -> None:
    repairs.register(locked)
    assert locks(locked) == 3


def test_locks_stay_while_jobs_of_the_dead_run(locked: Path) -> None:
    entry(locked, "1-1", DEAD)
    script = locked / ".snakemake/scripts/tmp1.simulate.py"
    script.parent.mkdir()
    script.write_text("import time; time.sleep(60)")
    job = subprocess.Popen([sys.executable, script])
    try:
        repairs.register(locked, wait=0.3)
        assert locks(locked) == 3
    finally:
        job.kill()
        job.wait()
    repairs.register(locked, wait=5)
    assert locks(locked) == 0


def test_workflows_that_start_together_never_take_each_others_lock(locked: Path) -> None:
    """Each registers, then locks; a lock that is there when all have started is a living one's."""
    entry(locked, "1-1", DEAD)
    code = (
        "import sys, time; from pathlib import Path; from apuflow.plan import repairs\n"
        "root, me = Path(sys.argv[1]), sys.argv[2]\n"
        "repairs.register(root); lock = root / f'.snakemake/locks/1{me}.output.lock'\n"
        "lock.write_text(me); time.sleep(3); assert lock.exists(), me"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, locked, str(each)]) for each in range(6)]
    assert [process.wait() for process in started] == [0] * 6


def test_times_from_the_future_become_times_of_now_or_of_old(tmp_path: Path) -> None:
    now = time.time()
    files = {
        "runs/gem5/w/u4-0/run.json": "kept",
        "configs/sweeps/mine.yaml": "kept",
        "cachefiles/objects/gfx801/a.o": "kept",
        "build/toolchain/v22.1/image-0123abcd.json": "kept",
        "build/inputs/mmap-4096.bin": "kept",
        "build/launcher/0123abcd/apuflow-launcher": "kept",
        "results/mine/w.csv": "made again",
        "runs/preview/w/mine.v6/run.json": "made again",
        "README.md": "not ours",
    }
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now + 3600, now + 3600))
    assert repairs.repair_times(tmp_path) == 8
    for name, what in files.items():
        age = time.time() - (tmp_path / name).stat().st_mtime
        expected = {"kept": 0 <= age < 60, "made again": age > 1e9, "not ours": age < -3000}
        assert expected[what], name
    assert repairs.repair_times(tmp_path) == 0


# records and tools ------------------------------------------------------------------------------------------
def test_a_table_has_exactly_the_rows_that_were_asked_for(project_copy: Gem5Project) -> None:
    campaign = Campaign(project_copy.root)
    [point] = campaign.points("one", "softmax_fwd")
    plan, planned = Manifest(paths.manifest("one", "softmax_fwd", "0")), {("gem5", point.id)}
    check_rows(plan, planned, planned)
    for rows in ([], [("gem5", "u8-ffffffff")], [("gem5", point.id), ("gem5", "u8-ffffffff")]):
        with pytest.raises(ConfigError, match="the records hold"):
            check_rows(plan, planned, rows)


def test_tools_that_were_changed_after_their_record_are_refused(
    copies: Callable[[], Gem5Project], tmp_path: Path
) -> None:
    project = copies()
    file = project.gem5_record
    record = read_record(file, Gem5Record)
    for _ in range(2):  # the second time from the note of the first
        assert unchanged_gem5(record, file) == record
    script = Path(record.script)
    script.write_text(script.read_text() + "# edited\n")
    with pytest.raises(EngineError, match="uncommitted changes"):
        unchanged_gem5(record, file)
    subprocess.run(["git", "-C", record.source.path, "checkout", "-q", "--", "."], check=True)
    with project.binary.open("a") as stream:
        stream.write("#")
    with pytest.raises(EngineError, match="not the recorded program"):
        unchanged_gem5(record, file)
    project.binary.unlink()
    with pytest.raises(EngineError, match="cannot be read"):
        unchanged_gem5(record, file)

    build = tmp_path / "build"
    program = build / "benchmarks/test_fwd_softmax/dnnmark_test_fwd_softmax"
    program.parent.mkdir(parents=True)
    for each in (program, build / "libdnnmark.so"):
        each.write_text("one build")
    made: DnnmarkRecord = existing_dnnmark(build)
    check_dnnmark(made, "test_fwd_softmax", file)
    (build / "libdnnmark.so").write_text("another build")
    with pytest.raises(EngineError, match="not the one that was recorded"):
        check_dnnmark(made, "test_fwd_softmax", file)
