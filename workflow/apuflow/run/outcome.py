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
from typing import NamedTuple

from apuflow.core.record import Status
from apuflow.gem5.stats.checks import RequiredRow
from apuflow.run import gem5_messages, guest_errors
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
    """How the process ended, from outside: as in ``containers.Exit``, with the limits for the evidence.

    ``stopper`` says who stopped the run, as its scheduler reports.
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
        evidence: the line (or fact) that led to the status.
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
    numbers = _TICKS.findall(simout)
    ticks = int(numbers[-1]) if numbers else None
    left = _Left(exit_facts, simout, simerr, expectation)
    proof = _UNREAD
    causes = _CAUSE.findall(simout)
    if not causes:
        verdict = left.without_cause()
    elif (cause := causes[-1].strip()) != NORMAL_CAUSE:
        verdict = left.cut_short(cause, ticks)
    elif (failed := left.failure_of_guest(directory)) is not None:
        verdict = failed
    else:
        proof = read_proof(statistics, required=expectation.required)
        problem = _statistics_problem(proof, ticks, expectation)
        if problem is None and sha256 not in (None, proof.sha256):
            problem = f"{statistics} changed after gem5 ended: something else writes in the run's directory"
        if problem is not None:
            verdict = Verdict(Status.NO_STATISTICS, problem)
        elif proof.kernels < expectation.kernels or proof.wavefronts == 0:
            told = (
                f"the program ended well but {proof.kernels} kernels were launched "
                f"(expected at least {expectation.kernels}) and {proof.wavefronts} wavefronts completed"
            )
            verdict = Verdict(Status.GUEST_FAILURE, told, "the program did not use the simulated GPU")
        else:
            verdict = Verdict(Status.COMPLETED, f"Exiting because {NORMAL_CAUSE}")
    return Outcome(*verdict, ticks, proof)


class Verdict(NamedTuple):
    """The first three fields of an Outcome."""

    status: Status
    evidence: str
    remedy: str | None = None


@dataclass(frozen=True)
class _Left:
    """What a process left besides its statistics, and what was expected of it."""

    exit_facts: ExitFacts
    simout: str
    simerr: str
    expectation: Expectation

    @property
    def _last_words(self) -> str:
        return guest_errors.last_words(self.simout, self.simerr) or "it printed nothing"

    def _error(self, text: str) -> str | None:
        return guest_errors.first_error(text, self.expectation.error_texts)

    def cut_short(self, cause: str, ticks: int | None) -> Verdict:
        """gem5 ended for another cause than the program's end."""
        if cause == INTERRUPT_CAUSE:
            return self._stopped() or Verdict(Status.INTERRUPTED, f"Exiting because {cause}")
        if cause == LIMIT_CAUSE and ticks is not None and ticks >= _MAX_TICK:
            error = self._error(gem5_messages.guest_text(f"{self.simout}\n{self.simerr}"))
            printed = "" if error is None else f"; it printed: {error}"
            return Verdict(Status.INCOMPLETE, _WAITS_FOR_EVER + printed, _WAITS_REMEDY)
        remedy = "raise abs-max-tick, or leave it out" if cause == LIMIT_CAUSE else None
        return Verdict(Status.INCOMPLETE, f"Exiting because {cause} (at tick {ticks})", remedy)

    def failure_of_guest(self, directory: Path) -> Verdict | None:
        """The program ended: how it failed; None: it shows every sign of its end and no error."""
        text = gem5_messages.guest_text(f"{self.simout}\n{self.simerr}")
        missing = guest_errors.missing_kernel(text)
        if missing is not None:
            return Verdict(Status.MISSING_KERNEL, missing.evidence, missing.remedy)
        error, code = self._error(text), self.exit_facts.code
        if code >= 128 and (fault := _fault(self.simerr, own=True)) is not None:
            return Verdict(*fault, guest_errors.remedy_of_panic(fault[1]))
        if code != 0:
            told = f"the program ended with {gem5_messages.status_name(code)}: {error or self._last_words}"
            return Verdict(Status.GUEST_FAILURE, told)
        if error is not None:
            return Verdict(Status.GUEST_FAILURE, error)
        if (lacking := _lacking(self.expectation, text, directory)) is not None:
            told = f"the program ended without {lacking}: {self._last_words}"
            remedy = "a guest that aborts can end gem5 with status 0; see simerr"
            return Verdict(Status.GUEST_FAILURE, told, remedy)
        return None

    def without_cause(self) -> Verdict:
        """No ``Exiting because``: gem5 did not get to its end."""
        text, facts = f"{self.simerr}\n{self.simout}", self.exit_facts
        started = _STARTED in text
        if facts.oom_killed:
            limit = f" of {facts.memory_bytes:,} bytes" if facts.memory_bytes else ""
            return Verdict(
                Status.HOST_OUT_OF_MEMORY, f"killed at its memory limit{limit}", "give the run more memory"
            )
        if (stop := self._stopped()) is not None:
            return stop
        fault = _fault(text)
        by_guest = fault is not None and guest_errors.ends_a_guest(fault[1])
        if not by_guest and (line := _line(_HOST_MEMORY, text)) is not None:
            return Verdict(Status.HOST_OUT_OF_MEMORY, line, "give the run more memory")
        if _GUEST_MEMORY in text:
            line = next(line.strip() for line in text.splitlines() if _GUEST_MEMORY in line)
            return Verdict(Status.GUEST_OUT_OF_MEMORY, line, "raise mem-size")
        if fault is not None:
            return self._with_guest(*fault, guest_errors.remedy_of_panic(fault[1]))
        if (line := _line(_ARGUMENTS, text)) is not None:
            remedy = "apu_se.py of this release does not take this option or value"
            return Verdict(Status.CONFIG_ERROR, line, remedy)
        message = gem5_messages.message("fatal", text)
        if message is not None:
            status = Status.GEM5_FATAL if started else Status.CONFIG_ERROR
            return self._with_guest(status, message, guest_errors.remedy_of_fatal(message))
        if (line := gem5_messages.python_error(text)) is not None:
            return Verdict(Status.GEM5_CRASH if started else Status.CONFIG_ERROR, line)
        return self._without_message(started)

    def _without_message(self, started: bool) -> Verdict:
        """Neither a cause nor a message: the exit status is all that is known."""
        code = self.exit_facts.code
        number, named = gem5_messages.signal_of(code), gem5_messages.status_name(code)
        if number in gem5_messages.FROM_OUTSIDE:
            remedy = gem5_messages.FROM_OUTSIDE[number]
            return Verdict(Status.INTERRUPTED, f"killed from outside by {named}", remedy)
        if number is not None:
            known = gem5_messages.REMEDIES.get(number)
            return Verdict(Status.GEM5_CRASH, f"gem5 was ended by {named}: {self._last_words}", known)
        if not started and code != 0:
            return Verdict(Status.CONFIG_ERROR, f"gem5 did not start (status {code}): {self._last_words}")
        return Verdict(Status.GEM5_CRASH, f"gem5 ended with status {code} and without an exit cause")

    def _with_guest(self, status: Status, message: str, remedy: str | None) -> Verdict:
        """What gem5 ended with, beside what the program had printed before it."""
        before = self.simerr[: gem5_messages.beginning(self.simerr)]
        text = gem5_messages.guest_text(f"{self.simout}\n{before}")
        by_guest = guest_errors.ends_a_guest(message)
        missing = guest_errors.missing_kernel(text)
        if by_guest and missing is not None:
            evidence = f"{missing.evidence} (then gem5: {message})"
            return Verdict(Status.MISSING_KERNEL, evidence, missing.remedy)
        error = self._error(text)
        if error is None:
            return Verdict(status, message, remedy)
        if by_guest:
            return Verdict(Status.GUEST_FAILURE, f"{error} (then gem5: {message})", remedy)
        return Verdict(status, f"{message} (before it the program printed: {error})", remedy)

    def _stopped(self) -> Verdict | None:
        facts = self.exit_facts
        if facts.stopped is None:
            return None
        if facts.stopped == "wall":
            limit = f" of {facts.wall_seconds:g} s" if facts.wall_seconds is not None else ""
            return Verdict(Status.TIMEOUT, f"stopped at its wall limit{limit}")
        reasons = {
            "interrupt": facts.stopper or "stopped by a signal to the workflow",
            "abandoned": "stopped because the workflow that started it is gone",
            "engine": "the container engine went away while it ran",
        }
        return Verdict(Status.INTERRUPTED, reasons.get(facts.stopped, facts.stopped))


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
