"""Run one point on gem5 and publish its record only when the run is proven."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuflow.containers.job import Job, Mount, Sample
from apuflow.core.errors import EngineError
from apuflow.core.files import file_lock, write_text
from apuflow.core.owner import Labels, Owner
from apuflow.core.record import RunRecord, Status, now, read_run
from apuflow.core.scheduler import Placement
from apuflow.gem5.stats.blocks import text_sha256
from apuflow.run import kernel_trace, publish
from apuflow.run.command import (
    OUTDIR,
    STATISTICS,
    command_script,
    gem5_command,
    rocm_environment,
    start_files,
)
from apuflow.run.guest_errors import last_words
from apuflow.run.kernel_trace import read_trace
from apuflow.run.long_texts import pack
from apuflow.run.outcome import ExitFacts, Outcome, classify
from apuflow.run.process import Ended, Process, RunFailed, Simulation
from apuflow.run.progress import LOST, Progress, guest_ticks, read_progress, tail, why_lost
from apuflow.run.share_start import shared_start

_TEXT_LIMIT = 32 << 20
_PROGRESS_SECONDS = 5.0
_STOPPED = ("interrupt", "abandoned")
_LOCK_SECONDS = 1.0
_GEM5_FAILED = (Status.GEM5_CRASH, Status.GEM5_FATAL, Status.GEM5_PANIC, Status.DEADLOCK)


@dataclass(frozen=True)
class Attempt:
    """One try at a run: ``<run_dir>/attempts/<number>``."""

    number: int
    directory: Path
    started: str

    def process_dir(self, process: Process) -> Path:
        """Working directory of a process; the attempt's own for the only one."""
        return self.directory / process.name if process.name else self.directory


class Busy(EngineError):
    """Another process is running this very point."""


def simulate(simulation: Simulation, *, wait: bool = True) -> RunRecord:
    """Run all processes of one point; write ``run.json`` (strict: only for a proven run) and return it.

    Every try has a directory of its own, ``attempts/N``; what a failed one left stays there with
    ``failure.json``.
    A completed record that is already there is returned as it is; a run that was proven before, but whose
    record was not published (or was removed), is published now.

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
        if (finished := publish.recovered(run_dir)) is not None:
            return finished
        simulation.container.remove_leftovers(simulation.project)
        _note_lost(run_dir)
        attempt = _new_attempt(run_dir)
        started = time.monotonic()
        try:
            ended = _run_all(simulation, attempt)
        finally:
            (run_dir / "progress.json").unlink(missing_ok=True)
        _pack_texts(simulation, ended)
        record = publish.record(
            simulation, attempt.number, attempt.started, ended, time.monotonic() - started
        )
        if record.status is Status.COMPLETED:
            return publish.completed(simulation, attempt.directory, ended, record)
        if record.status is Status.INTERRUPTED:
            # Half-written statistics are no evidence, and on a full disk they are in the way.
            (ended[-1].directory / OUTDIR / STATISTICS).unlink(missing_ok=True)
        record.write(attempt.directory / "failure.json")
        if simulation.on_failure == "strict" or not record.status.recordable:
            raise RunFailed(record, attempt.directory, stopped=ended[-1].exit.stopped in _STOPPED)
        record.write(published)
        return record


def _pack_texts(simulation: Simulation, ended: Sequence[Ended]) -> None:
    for process in ended:
        outdir = process.directory / OUTDIR
        names = (simulation.gem5.stdout_file, simulation.gem5.stderr_file)
        pack([*(outdir / name for name in names), process.directory / "log"])


def _run_all(simulation: Simulation, attempt: Attempt) -> list[Ended]:
    ended: list[Ended] = []
    limits, left = simulation.limits, simulation.limits.wall_seconds
    for process in simulation.processes:
        one = replace(simulation, limits=replace(limits, wall_seconds=left))
        ended.append(_run(one, attempt, process))
        if not ended[-1].outcome.completed:
            break
        left = None if left is None else max(1.0, left - ended[-1].exit.seconds)
    return ended


def _run(simulation: Simulation, attempt: Attempt, process: Process) -> Ended:
    """One gem5 process, from an empty directory to its outcome."""
    directory = attempt.process_dir(process)
    command = prepare(simulation, process, directory)
    outdir = directory / OUTDIR
    stdout, stderr = outdir / simulation.gem5.stdout_file, outdir / simulation.gem5.stderr_file
    report = _Reporter(simulation, attempt, process, (stderr, stdout))
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
        shared=shared_start(simulation, process),
    )
    exit_ = simulation.container.run(job)
    sha256 = text_sha256(outdir / STATISTICS)
    facts = ExitFacts(
        exit_.code,
        exit_.oom_killed,
        exit_.stopped,
        simulation.limits.memory_bytes,
        simulation.limits.wall_seconds,
        Placement.here().stopped_by() if exit_.stopped == "interrupt" else None,
    )
    simout, simerr = _text(stdout), f"{_text(stderr)}\n{_text(job.log)}"
    statistics = outdir / STATISTICS
    outcome = classify(facts, simout, simerr, statistics, process.expectation, sha256, directory)
    outcome = _disk_full(directory, outcome)
    results = None
    if process.judge is not None and outcome.completed:
        results = process.judge.results(directory)
    elif process.judge is not None and outcome.status in _GEM5_FAILED:
        outcome = replace(outcome, evidence=process.judge.explained(outcome.evidence))
    dispatches = read_trace(outdir / kernel_trace.FILE)
    return Ended(
        process, directory, command, exit_, outcome, publish.gem5_version(simout), results, dispatches
    )


def prepare(simulation: Simulation, process: Process, directory: Path) -> tuple[str, ...]:
    """Lay out a process's working directory, with a ``command.sh`` to run it by hand; return its command."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / process.home).mkdir(parents=True, exist_ok=True)
    variables = process.guest.environment
    if process.rocm:
        variables = rocm_environment(directory / process.home, variables)
    texts = {**process.files, **start_files(simulation.gem5, variables)}
    for name, content in {**process.data, **{name: text.encode() for name, text in texts.items()}}.items():
        target = _inside(directory, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for name, source in process.copies.items():
        target = _inside(directory, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for name, source in process.links.items():
        _inside(directory, name).symlink_to(source.resolve())
    command = gem5_command(
        simulation.gem5,
        process.options,
        process.guest,
        directory,
        trace_workgroups=process.trace_workgroups,
    )
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
    return target


class _Reporter:
    """Writes the run's progress file at each sample."""

    def __init__(
        self, simulation: Simulation, attempt: Attempt, process: Process, texts: tuple[Path, ...]
    ) -> None:
        self.path = simulation.run_dir / "progress.json"
        self.texts = texts
        placement = Placement.here()
        self.base = Progress(
            point=simulation.point.point,
            attempt=attempt.number,
            owner=str(Owner.current()),
            started=attempt.started,
            seconds=0.0,
            process=process.name,
            log=str(texts[0]),
            job=placement.job,
            node=placement.node,
        )

    def __call__(self, sample: Sample) -> None:
        ends = [tail(path) for path in self.texts]
        line = last_words(*(end.decode(errors="replace") for end in reversed(ends))) or ""
        update = {
            "seconds": round(sample.seconds, 1),
            "memory_bytes": sample.memory_bytes,
            "ticks": guest_ticks(ends[0]),
            "line": line[:200],
        }
        with contextlib.suppress(OSError):  # progress must never end a run
            self.base.model_copy(update=update).write(self.path)


@contextlib.contextmanager
def _disk_errors(run_dir: Path) -> Iterator[None]:
    """Turn a full or read-only disk into an EngineError. Nothing is published; a rerun does the work."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"cannot write the run: {error.strerror or error}",
            file=error.filename or run_dir,
            remedy="make room there (or make it writable) and run again",
        ) from error


@contextlib.contextmanager
def _locked(run_dir: Path, *, wait: bool) -> Iterator[None]:
    """Hold the run directory's lock. A file system without locks leaves Snakemake's own lock alone.

    It polls: a network file system may forget a process that waits in the kernel's queue.
    """
    with contextlib.ExitStack() as stack:
        told = False
        while True:
            try:
                stack.enter_context(file_lock(run_dir / ".lock", wait=False))
            except BlockingIOError:
                if not wait:
                    raise Busy(
                        "another process is running this point",
                        file=run_dir,
                        remedy="wait for it (`apuflow status` shows where it runs), or end it",
                    ) from None
                if not told:
                    print(f"{run_dir}: another process is running this point; waiting for it to end")
                    told = True
                time.sleep(_LOCK_SECONDS)
            else:
                break
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


def _new_attempt(run_dir: Path) -> Attempt:
    attempts = run_dir / "attempts"
    attempts.mkdir(exist_ok=True)
    numbers = [int(entry.name) for entry in attempts.iterdir() if entry.name.isdigit()]
    number = max(numbers, default=0) + 1
    directory = (attempts / str(number)).resolve()
    directory.mkdir()
    return Attempt(number, directory, now())


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


def _disk_full(directory: Path, outcome: Outcome) -> Outcome:
    """A failure on a full disk says nothing about the point, not even its logs are whole: run it again."""
    if outcome.completed or shutil.disk_usage(directory).free > 1 << 20:
        return outcome
    evidence = f"the disk is full ({outcome.evidence})"
    remedy = "free some space and run again"
    return replace(outcome, status=Status.INTERRUPTED, evidence=evidence, remedy=remedy)
