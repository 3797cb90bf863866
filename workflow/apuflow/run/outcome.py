"""How a gem5 run ended, and whether it proved that it finished. A pure function of what the run left.

gem5's exit status alone proves nothing: reaching the maximum tick, SIGINT and (from v23.1) a guest's abort()
all end with 0, and a guest that fails leaves complete, plausible statistics. The texts below are gem5's,
DNNMark's and MIOpen's own (src/base/logging.cc, src/sim/simulate.cc, configs/example/apu_se.py;
core/include/common.h; src/include/miopen/errors.hpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.record import Status
from apuflow.gem5.stats.checks import RequiredRow
from apuflow.run import exit_status, gem5_messages, guest_errors
from apuflow.run.proof import StatisticsProof, read_proof

NORMAL_CAUSE = "exiting with last active thread context"
LIMIT_CAUSE = "simulate() limit reached"
INTERRUPT_CAUSE = "user interrupt received"

_CAUSE = re.compile(r"^Exiting because  (.+)$", re.M)
_TICKS = re.compile(r"Ticks: (\d+)$", re.M)  # the guest's last line may have had no end
_UNREAD = StatisticsProof("not read")
_STARTED = "Entering event queue @"
_GUEST_MEMORY = "Out of memory, please increase size of physical memory"
_HOST_MEMORY = re.compile(r"^.*(?:std::bad_alloc|Could not mmap \d+ bytes|^MemoryError\b).*$", re.M)
_SEGMENTATION = "gem5 has encountered a segmentation fault!"
_ARGUMENTS = re.compile(r"^(?:apu_se\.py|usage|gem5\S*): error: .+$|^.+\.py: error: .+$", re.M)
_WAITS_FOR_EVER = (
    "the program waits for ever: all of its threads sleep, and gem5 has no event left (tick 2^64-1)"
)
_WAITS_REMEDY = (
    "give each thread of the program a CPU core (num-cpus, `cpu_cores` of the workload); if it has them, "
    "read in simerr what it waits for"
)
_MAX_TICK = 2**63
"""gem5 stops at tick 2**64 - 1 (``MaxTick``) when no event is left; no limit that anybody sets is near it."""


@dataclass(frozen=True)
class ExitFacts:
    """How the process ended, from outside.

    Attributes:
        code: exit status as a shell shows it.
        oom_killed: the host or container ran out of memory.
        stopped: why we told it to stop ("wall", "interrupt", "abandoned", "engine"), or None.
        memory_bytes, wall_seconds: the limits, for the evidence.
        stopper: who stopped the run, as its scheduler reports.
    """

    code: int
    oom_killed: bool = False
    stopped: str | None = None
    memory_bytes: int | None = None
    wall_seconds: float | None = None
    stopper: str | None = None


@dataclass(frozen=True)
class EndFile:
    """A file that the guest writes whole before it ends: its name in the working directory, and its lines."""

    name: str
    lines: int


@dataclass(frozen=True)
class Expectation:
    """What a run has to show to count as finished.

    Attributes:
        end_marker: text that the guest prints only when it ended well; None: it prints none.
        error_texts: texts of the guest that mean failure wherever they stand, besides the known ones.
        blocks: complete statistics blocks that must be there: exactly this many, or None for one or more,
            and no fewer than kernels (releases that dump after every kernel).
        kernels: at least this many kernels must have been launched.
        required: rows of statistics that somebody reads.
        end_file: a file that the guest writes whole only when it ended well; None: it writes none.
    """

    end_marker: str | None = None
    error_texts: tuple[str, ...] = ()
    blocks: int | None = 1
    kernels: int = 1
    required: tuple[RequiredRow, ...] = ()
    end_file: EndFile | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        status: the named outcome.
        evidence: the line (or fact) that led to it.
        remedy: what to do about it, where something is known.
        ticks: ``Ticks:`` that gem5 printed.
        statistics: what the statistics show (of a completed run: the proof).
    """

    status: Status
    evidence: str
    remedy: str | None = None
    ticks: int | None = None
    statistics: StatisticsProof = _UNREAD

    @property
    def completed(self) -> bool:
        """Whether it is proven."""
        return self.status is Status.COMPLETED


def classify(
    exit_facts: ExitFacts,
    simout: str,
    simerr: str,
    statistics: Path | None,
    expectation: Expectation,
    sha256: str | None = None,
    directory: Path = Path(),
) -> Outcome:
    """The outcome of one gem5 process.

    Args:
        simout: gem5's standard output, with the guest's mixed in.
        simerr: gem5's standard error, with the guest's mixed in.
        statistics: the statistics file, or None when there is none.
        sha256: hash of the statistics' text as gem5 ended; None: it was not taken.
        directory: the guest's working directory.

    A run is ``completed`` only if exit status and exit cause are normal, the statistics are whole and this
    run's, kernels were launched, wavefronts completed, the guest's end marker (or file) is there, and no
    known error text is.
    """
    ticks = _last_number(_TICKS, simout)
    causes = _CAUSE.findall(simout)
    if not causes:
        status, evidence, remedy = _without_cause(exit_facts, simout, simerr, expectation)
        return Outcome(status, evidence, remedy, ticks)
    cause = causes[-1].strip()
    if cause == INTERRUPT_CAUSE:
        status, evidence = _stopped(exit_facts) or (Status.INTERRUPTED, f"Exiting because {cause}")
        return Outcome(status, evidence, None, ticks)
    if cause != NORMAL_CAUSE:
        if cause == LIMIT_CAUSE and ticks is not None and ticks >= _MAX_TICK:
            text = gem5_messages.guest_text(f"{simout}\n{simerr}")
            error = guest_errors.first_error(text, expectation.error_texts)
            printed = "" if error is None else f"; it printed: {error}"
            return Outcome(Status.INCOMPLETE, _WAITS_FOR_EVER + printed, _WAITS_REMEDY, ticks)
        remedy = "raise abs-max-tick, or leave it out" if cause == LIMIT_CAUSE else None
        return Outcome(Status.INCOMPLETE, f"Exiting because {cause} (at tick {ticks})", remedy, ticks)
    return _after_normal_cause(exit_facts, simout, simerr, statistics, expectation, directory, ticks, sha256)


def _after_normal_cause(
    exit_facts: ExitFacts,
    simout: str,
    simerr: str,
    statistics: Path | None,
    expectation: Expectation,
    directory: Path,
    ticks: int | None,
    sha256: str | None,
) -> Outcome:
    text = gem5_messages.guest_text(f"{simout}\n{simerr}")
    missing = guest_errors.missing_kernel(text)
    if missing is not None:
        return Outcome(Status.MISSING_KERNEL, missing.evidence, missing.remedy, ticks)
    error = guest_errors.first_error(text, expectation.error_texts)
    if exit_facts.code >= 128 and (fault := _fault(simerr, own=True)) is not None:
        return Outcome(*fault, guest_errors.remedy_of_panic(fault[1]), ticks)
    if exit_facts.code != 0:
        line = error or guest_errors.last_words(simout, simerr) or "it printed nothing"
        return Outcome(
            Status.GUEST_FAILURE,
            f"the program ended with {exit_status.named(exit_facts.code)}: {line}",
            None,
            ticks,
        )
    if error is not None:
        return Outcome(Status.GUEST_FAILURE, error, None, ticks)
    if (lacking := _lacking(expectation, text, directory)) is not None:
        return Outcome(
            Status.GUEST_FAILURE,
            f"the program ended without {lacking}: "
            f"{guest_errors.last_words(simout, simerr) or 'it printed nothing'}",
            "a guest that aborts can end gem5 with status 0; see simerr",
            ticks,
        )
    proof = read_proof(statistics, required=expectation.required)
    problem = _statistics_problem(proof, ticks, expectation)
    if problem is None and sha256 not in (None, proof.sha256):
        problem = f"{statistics} changed after gem5 ended: something else writes in the run's directory"
    if problem is not None:
        return Outcome(Status.NO_STATISTICS, problem, None, ticks, proof)
    if proof.kernels < expectation.kernels or proof.wavefronts == 0:
        return Outcome(
            Status.GUEST_FAILURE,
            f"the program ended well but {proof.kernels} kernels were launched "
            f"(expected at least {expectation.kernels}) and {proof.wavefronts} wavefronts completed",
            "the program did not use the simulated GPU",
            ticks,
            proof,
        )
    return Outcome(Status.COMPLETED, f"Exiting because {NORMAL_CAUSE}", None, ticks, proof)


def _lacking(expectation: Expectation, text: str, directory: Path) -> str | None:
    """Which sign of the program's end is not there; None: all are."""
    if expectation.end_marker is not None and expectation.end_marker not in text:
        return f"its last line ({expectation.end_marker!r})"
    file = expectation.end_file
    if file is None:
        return None
    try:
        with (directory / file.name).open("rb") as stream:
            lines = sum(1 for _ in stream)
    except OSError:
        return f"its file {file.name}"
    return (
        None if lines == file.lines else f"{file.lines:,} lines in its file {file.name} ({lines:,} are there)"
    )


def _statistics_problem(proof: StatisticsProof, ticks: int | None, expectation: Expectation) -> str | None:
    if proof.problem is not None:
        return proof.problem
    if expectation.blocks is not None and proof.blocks != expectation.blocks:
        return f"{proof.blocks} statistics blocks where this release writes {expectation.blocks}"
    if expectation.blocks is None and proof.blocks < expectation.kernels:
        return (
            f"{proof.blocks} statistics blocks for {expectation.kernels} kernels: not one after each of them"
        )
    if ticks is None:
        return "gem5 printed no Ticks line to compare the statistics with"
    if proof.final_tick != ticks:
        return f"the statistics end at tick {proof.final_tick}, gem5 at {ticks}: they are from another run"
    return None


def _without_cause(
    exit_facts: ExitFacts, simout: str, simerr: str, expectation: Expectation
) -> tuple[Status, str, str | None]:
    """No ``Exiting because``: gem5 did not get to its end."""
    started = _STARTED in simerr or _STARTED in simout
    if exit_facts.oom_killed:
        limit = f" of {exit_facts.memory_bytes:,} bytes" if exit_facts.memory_bytes else ""
        return Status.HOST_OUT_OF_MEMORY, f"killed at its memory limit{limit}", "give the run more memory"
    if (stop := _stopped(exit_facts)) is not None:
        return *stop, None
    text = f"{simerr}\n{simout}"
    fault = _fault(text)
    by_guest = fault is not None and guest_errors.ends_a_guest(fault[1])
    if not by_guest and (line := _line(_HOST_MEMORY, text)) is not None:
        return Status.HOST_OUT_OF_MEMORY, line, "give the run more memory"
    if _GUEST_MEMORY in text:
        return Status.GUEST_OUT_OF_MEMORY, _line_with(_GUEST_MEMORY, text), "raise mem-size"
    if fault is not None:
        return _with_guest(*fault, guest_errors.remedy_of_panic(fault[1]), simout, simerr, expectation)
    if (line := _line(_ARGUMENTS, text)) is not None:
        return Status.CONFIG_ERROR, line, "apu_se.py of this release does not take this option or value"
    message = gem5_messages.message("fatal", text)
    if message is not None:
        status = Status.GEM5_FATAL if started else Status.CONFIG_ERROR
        return _with_guest(
            status, message, guest_errors.remedy_of_fatal(message), simout, simerr, expectation
        )
    if (line := gem5_messages.python_error(text)) is not None:
        return (Status.GEM5_CRASH if started else Status.CONFIG_ERROR), line, None
    return _without_message(exit_facts.code, started, simout, simerr)


def _without_message(code: int, started: bool, simout: str, simerr: str) -> tuple[Status, str, str | None]:
    """Neither a cause nor a message: the exit status is all that is known."""
    number = exit_status.signal_of(code)
    if number in exit_status.FROM_OUTSIDE:
        return (
            Status.INTERRUPTED,
            f"killed from outside by {exit_status.named(code)}",
            exit_status.FROM_OUTSIDE[number],
        )
    words = guest_errors.last_words(simout, simerr) or "it printed nothing"
    if number is not None:
        return (
            Status.GEM5_CRASH,
            f"gem5 was ended by {exit_status.named(code)}: {words}",
            exit_status.REMEDIES.get(number),
        )
    if not started and code != 0:
        return Status.CONFIG_ERROR, f"gem5 did not start (status {code}): {words}", None
    return Status.GEM5_CRASH, f"gem5 ended with status {code} and without an exit cause", None


def _with_guest(
    status: Status, message: str, remedy: str | None, simout: str, simerr: str, expectation: Expectation
) -> tuple[Status, str, str | None]:
    """What gem5 ended with, beside what the program had printed before it."""
    before = gem5_messages.guest_text(f"{simout}\n{simerr[: gem5_messages.beginning(simerr)]}")
    by_guest = guest_errors.ends_a_guest(message)
    missing = guest_errors.missing_kernel(before)
    if by_guest and missing is not None:
        return Status.MISSING_KERNEL, f"{missing.evidence} (then gem5: {message})", missing.remedy
    error = guest_errors.first_error(before, expectation.error_texts)
    if error is None:
        return status, message, remedy
    if by_guest:
        return Status.GUEST_FAILURE, f"{error} (then gem5: {message})", remedy
    return status, f"{message} (before it the program printed: {error})", remedy


def _stopped(exit_facts: ExitFacts) -> tuple[Status, str] | None:
    if exit_facts.stopped == "wall":
        limit = f" of {exit_facts.wall_seconds:g} s" if exit_facts.wall_seconds is not None else ""
        return Status.TIMEOUT, f"stopped at its wall limit{limit}"
    reasons = {
        "interrupt": "stopped by a signal to the workflow",
        "abandoned": "stopped because the workflow that started it is gone",
        "engine": "the container engine went away while it ran",
    }
    if exit_facts.stopped == "interrupt" and exit_facts.stopper is not None:
        return Status.INTERRUPTED, exit_facts.stopper
    if exit_facts.stopped is not None:
        return Status.INTERRUPTED, reasons.get(exit_facts.stopped, exit_facts.stopped)
    return None


def _fault(text: str, *, own: bool = False) -> tuple[Status, str] | None:
    """A panic, assertion, deadlock or segmentation fault of gem5; ``own``: no assertion of the program."""
    if (line := gem5_messages.deadlock(text)) is not None:
        return Status.DEADLOCK, line
    line = gem5_messages.message("panic", text) or gem5_messages.assertion(text, own=own)
    if line is not None:
        return Status.GEM5_PANIC, line
    if _SEGMENTATION in text:
        return Status.GEM5_CRASH, _SEGMENTATION
    return None


def _line(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[0].strip() if match else None


def _line_with(piece: str, text: str) -> str:
    return next(line.strip() for line in text.splitlines() if piece in line)


def _last_number(pattern: re.Pattern[str], text: str) -> int | None:
    numbers = pattern.findall(text)
    return int(numbers[-1]) if numbers else None
