"""Run one point on gem5 and publish its record only when the run is proven."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from apuflow.containers.job import Job, Mount, Sample
from apuflow.core.errors import EngineError
from apuflow.core.files import file_lock, write_text
from apuflow.core.owner import Labels, Owner
from apuflow.core.record import RunRecord, Status, now, read_run
from apuflow.core.scheduler import Placement
from apuflow.gem5.stats.blocks import text_sha256
from apuflow.run import kernel_trace, publish
from apuflow.run.command import OUTDIR, STATISTICS, command_script, rocm_environment, start_files
from apuflow.run.guest_errors import last_words
from apuflow.run.kernel_trace import read_trace
from apuflow.run.outcome import ExitFacts, classify
from apuflow.run.packing import pack_texts
from apuflow.run.process import Ended, RunFailed, Simulation, shared_start
from apuflow.run.status import LOST, Progress, guest_ticks, read_progress, tail, why_lost

_TEXT_LIMIT = 32 << 20
_PROGRESS_SECONDS = 5.0
_STOPPED = ("interrupt", "abandoned")
_LOCK_SECONDS = 1.0
_GEM5_FAILED = (Status.GEM5_CRASH, Status.GEM5_FATAL, Status.GEM5_PANIC, Status.DEADLOCK)


class Busy(EngineError):
    """Another process is running this very point."""


def simulate(simulation: Simulation, *, wait: bool = True) -> RunRecord:
    """Run one point; write ``run.json`` (strict: only for a proven run) and return it.

    Every try has a directory of its own, ``attempts/N``; what a failed one left stays there, with
    ``failure.json``. A completed record that is already there is returned as it is; a run that was proven
    before, but has no record, is published.

    Args:
        wait: for another process that is running this point; what it has proven is returned then.

    Raises:
        RunFailed: the run is not proven; always for an interrupted one, else only when ``on_failure`` is
        strict.
        Busy: another process is running it, and ``wait`` is false.
        EngineError: it could not be started.
    """
    run_dir = simulation.run_dir
    with _disk_errors(run_dir):
        run_dir.mkdir(parents=True, exist_ok=True)
    with _disk_errors(run_dir), _locked(run_dir, wait=wait):
        published = run_dir / "run.json"
        if published.exists():
            with contextlib.suppress(Exception):
                record = read_run(published)
                if record.status is Status.COMPLETED:
                    return record
        if (proven := publish.unpublished(run_dir)) is not None:
            return publish.publish(run_dir, *proven)
        simulation.container.remove_leftovers(simulation.project)
        _note_lost(run_dir)
        directory, started, began = _new_attempt(run_dir), time.monotonic(), now()
        try:
            ended = _run(simulation, directory, began)
        finally:
            (run_dir / "progress.json").unlink(missing_ok=True)
        pack_texts([*_texts(simulation, directory), directory / "log"])
        record = publish.record(simulation, ended, began, time.monotonic() - started)
        if record.status is Status.COMPLETED:
            return publish.completed(simulation, ended, record)
        if record.status is Status.INTERRUPTED:
            # Half-written statistics are no evidence, and on a full disk they are in the way.
            (directory / OUTDIR / STATISTICS).unlink(missing_ok=True)
        record.write(directory / "failure.json")
        if simulation.on_failure == "strict" or not record.status.recordable:
            raise RunFailed(record, directory, stopped=ended.exit.stopped in _STOPPED)
        record.write(published)
        return record


def _texts(simulation: Simulation, directory: Path) -> tuple[Path, Path]:
    """Standard output and standard error of gem5."""
    outdir = directory / OUTDIR
    return outdir / simulation.gem5.stdout_file, outdir / simulation.gem5.stderr_file


def _run(simulation: Simulation, directory: Path, began: str) -> Ended:
    """gem5's process, from an empty directory to its outcome."""
    process = simulation.process
    command = prepare(simulation, directory)
    outdir = directory / OUTDIR
    stdout, stderr = _texts(simulation, directory)
    report = _reporter(simulation, directory, began)
    report(Sample(0.0, None))
    job = Job(
        command=command,
        image=simulation.image,
        mounts=(*simulation.mounts, Mount(directory, writable=True)),
        env={"PYTHONDONTWRITEBYTECODE": "1", "M5_OVERRIDE_PY_SOURCE": "false"},
        cwd=directory,
        home=directory / process.home,
        log=directory / "log",
        labels=Labels.here(simulation.project, simulation.point.point),
        limits=simulation.limits,
        on_sample=report,
        sample_seconds=_PROGRESS_SECONDS,
        shared=shared_start(simulation),
    )
    exit_ = simulation.container.run(job)
    statistics = outdir / STATISTICS
    sha256 = text_sha256(statistics)
    facts = ExitFacts(
        exit_.code,
        exit_.oom_killed,
        exit_.stopped,
        simulation.limits.memory_bytes,
        simulation.limits.wall_seconds,
        Placement.here().stopped_by() if exit_.stopped == "interrupt" else None,
    )
    simout, simerr = _text(stdout), f"{_text(stderr)}\n{_text(job.log)}"
    outcome = classify(facts, simout, simerr, statistics, process.expectation, sha256, directory)
    if not outcome.completed and shutil.disk_usage(directory).free <= 1 << 20:
        # A failure on a full disk says nothing about the point, not even its logs are whole: run it again.
        evidence = f"the disk is full ({outcome.evidence})"
        remedy = "free some space and run again"
        outcome = replace(outcome, status=Status.INTERRUPTED, evidence=evidence, remedy=remedy)
    results = None
    if process.judge is not None and outcome.completed:
        results = process.judge.results(directory)
    elif process.judge is not None and outcome.status in _GEM5_FAILED:
        outcome = replace(outcome, evidence=process.judge.explained(outcome.evidence))
    dispatches = read_trace(outdir / kernel_trace.FILE)
    return Ended(directory, command, exit_, outcome, publish.gem5_version(simout), results, dispatches)


def prepare(simulation: Simulation, directory: Path) -> tuple[str, ...]:
    """Lay out a working directory, with a ``command.sh`` to run gem5 by hand; return its command."""
    process = simulation.process
    (directory / process.home).mkdir(parents=True, exist_ok=True)
    variables = process.guest.environment
    if process.rocm:
        variables = rocm_environment(directory / process.home, variables)
    texts = {**process.files, **start_files(simulation.gem5, variables)}
    for name, content in {**process.data, **{name: text.encode() for name, text in texts.items()}}.items():
        _inside(directory, name).write_bytes(content)
    for name, source in process.copies.items():
        shutil.copyfile(source, _inside(directory, name))
    for name, source in process.links.items():
        _inside(directory, name).symlink_to(source.resolve())
    command = process.command(simulation.gem5, directory)
    point = simulation.point
    note = f"{point.engine} {point.workload} {point.point}; image: {simulation.image or 'none'}"
    script = directory / "command.sh"
    write_text(script, command_script(command, directory, note))
    script.chmod(0o755)
    return command


def _inside(directory: Path, name: str) -> Path:
    target = directory / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise EngineError("a run's file must lie in the run's directory", value=name)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _reporter(simulation: Simulation, directory: Path, began: str) -> Callable[[Sample], None]:
    """Writes the run's progress file at each sample."""
    stdout, stderr = _texts(simulation, directory)
    placement, owner = Placement.here(), str(Owner.current())

    def report(sample: Sample) -> None:
        printed, logged = tail(stdout), tail(stderr)
        line = last_words(printed.decode(errors="replace"), logged.decode(errors="replace")) or ""
        progress = Progress(
            point=simulation.point.point,
            attempt=int(directory.name),
            owner=owner,
            started=began,
            seconds=round(sample.seconds, 1),
            ticks=guest_ticks(logged),
            memory_bytes=sample.memory_bytes,
            line=line[:200],
            log=str(stderr),
            job=placement.job,
            node=placement.node,
        )
        with contextlib.suppress(OSError):  # progress must never end a run
            progress.write(simulation.run_dir / "progress.json")

    return report


@contextlib.contextmanager
def _disk_errors(run_dir: Path) -> Iterator[None]:
    """Turn a full or read-only disk into an EngineError. Nothing is published; a rerun does the work."""
    try:
        yield
    except OSError as error:
        said, file = f"cannot write the run: {error.strerror or error}", error.filename or run_dir
        remedy = "make room there (or make it writable) and run again"
        raise EngineError(said, file=file, remedy=remedy) from error


@contextlib.contextmanager
def _locked(run_dir: Path, *, wait: bool) -> Iterator[None]:
    """Hold the run directory's lock. A file system without locks leaves Snakemake's own lock alone.

    It polls: a network file system may forget a process that waits in the kernel's queue.
    """
    said, told = "another process is running this point", False
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(file_lock(run_dir / ".lock", wait=False))
                break
            except BlockingIOError:
                if not wait:
                    remedy = "wait for it (`apuflow status` shows where it runs), or end it"
                    raise Busy(said, file=run_dir, remedy=remedy) from None
                if not told:
                    print(f"{run_dir}: {said}; waiting for it to end")
                    told = True
                time.sleep(_LOCK_SECONDS)
        yield


def _note_lost(run_dir: Path) -> None:
    """Write down why the try before left nothing, as far as its scheduler says."""
    progress = read_progress(run_dir / "progress.json")
    if progress is None:
        return
    directory = run_dir / "attempts" / str(progress.attempt)
    if directory.is_dir() and not (directory / "failure.json").exists():
        why = why_lost(progress) or "its process ended without a word: killed, or its machine lost its power"
        print(f"try {progress.attempt} was lost: {why}")
        write_text(directory / LOST, why + "\n")


def _new_attempt(run_dir: Path) -> Path:
    """The directory of a try, ``<run_dir>/attempts/<number>``."""
    attempts = run_dir / "attempts"
    attempts.mkdir(exist_ok=True)
    numbers = [int(entry.name) for entry in attempts.iterdir() if entry.name.isdigit()]
    directory = (attempts / str(max(numbers, default=0) + 1)).resolve()
    directory.mkdir()
    return directory


def _text(path: Path) -> str:
    """A log's text; of a very long one the beginning and the end."""
    try:
        if path.stat().st_size <= _TEXT_LIMIT:
            return path.read_text(encoding="utf-8", errors="replace")
        with path.open("rb") as stream:
            head = stream.read(_TEXT_LIMIT // 4)
        return (head + b"\n[...]\n" + tail(path, _TEXT_LIMIT // 4 * 3)).decode(errors="replace")
    except OSError:
        return ""
