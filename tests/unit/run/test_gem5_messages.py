"""What gem5 says as it ends: all lines of a message, signals by name, a program that waits for ever."""

# ruff: noqa: E501  (texts as they are printed)

from __future__ import annotations

import pytest

from apuflow.core.record import Status
from apuflow.run.outcome import ExitFacts, Expectation, Outcome, classify

STARTED = "src/sim/simulate.cc:194: info: Entering event queue @ 0.  Starting simulation...\n"
END = "Memory Usage: 133056 KBytes\nProgram aborted at tick 79088\n"


def ended(code: int, simerr: str, simout: str = "") -> Outcome:
    return classify(ExitFacts(code), simout, simerr, None, Expectation())


# A message as gem5 v23.0.1.0 prints it, and what decides it: not on its first line.
MESSAGES = [
    (  # src/mem/slicc/symbols/StateMachine.py:1797
        "build/VEGA_X86/mem/ruby/protocol/TCC_Transitions.cc:269: panic: Invalid transition\n"
        "system.ruby.tcc_cntrl0 time: 79088 addr: 0x3c0 event: Data state: WI\n\n\n",
        "event: Data state: WI",
    ),
    (  # src/mem/ruby/system/Sequencer.cc:240
        "src/mem/ruby/system/Sequencer.cc:240: panic: Possible Deadlock detected. Aborting!\n"
        "version: 3 request.paddr: 0x1c0 m_readRequestTable: 1 current time: 5 issue_time: 1 difference: 4\n",
        "version: 3 request.paddr: 0x1c0",
    ),
    (  # src/arch/x86/faults.cc:166
        "src/arch/x86/faults.cc:166: panic: Tried to read unmapped address 0.\nPC: (0x4=>0x5), Instr: MOV_R_M\n",
        "Instr: MOV_R_M",
    ),
    ("src/sim/x.cc:1: fatal: \nthe second line decides\n", "the second line decides"),
    ("src/sim/x.cc:1: fatal: several things:\n\n  a = 1\n\n  b = 2\n", "b = 2"),
]


@pytest.mark.parametrize(("text", "decides"), MESSAGES)
def test_a_message_of_several_lines_is_evidence_as_a_whole(text: str, decides: str) -> None:
    outcome = ended(134, f"{STARTED}{text}{END}")
    assert decides in outcome.evidence
    assert "Memory Usage" not in outcome.evidence and "\n" not in outcome.evidence


def test_what_follows_a_message_is_no_part_of_it() -> None:
    text = "src/sim/x.cc:1: panic: alone\nsrc/sim/y.cc:2: warn: another\n"
    assert ended(134, STARTED + text + END).evidence == "src/sim/x.cc:1: panic: alone"

    simout = "gem5 Simulator System.  https://www.gem5.org\n"
    assert ended(1, "fatal: prog not found in []", simout).evidence == "fatal: prog not found in []"


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):\n  File \"apu_se.py\", line 9, in <module>\n    x()\n"
        "TypeError: Can't convert 'x' to type Int\nError setting param TCPCntrl.issue_latency to x\n",
        "TypeError: Can't convert 'x' to type Int\nError setting param TCPCntrl.issue_latency to x\n\nAt:\n  main.py\n",
    ],
    ids=["traceback", "pybind11"],
)  # fmt: skip
def test_a_python_error_of_two_lines_is_evidence_as_a_whole(text: str) -> None:
    """src/python/m5/SimObject.py:873 adds the parameter on a line of its own."""
    outcome = ended(1, text)
    assert outcome.status is Status.CONFIG_ERROR
    assert "Can't convert 'x'" in outcome.evidence and "TCPCntrl.issue_latency" in outcome.evidence


@pytest.mark.parametrize(
    ("code", "name"),
    [(132, "SIGILL"), (133, "SIGTRAP"), (134, "SIGABRT"), (135, "SIGBUS"), (136, "SIGFPE"), (139, "SIGSEGV")],
)
def test_a_signal_that_ended_gem5_has_its_name(code: int, name: str) -> None:
    """Numbers of Linux on x86-64 (signal(7)); a shell's status is 128 and the number."""
    for text in ("", STARTED):
        outcome = ended(code, text)
        assert (outcome.status, name in outcome.evidence) == (Status.GEM5_CRASH, True)


def test_an_illegal_instruction_names_its_usual_cause() -> None:
    assert "march=native" in str(ended(132, "").remedy)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (129, "SIGHUP"),
        (130, "SIGINT"),
        (137, "SIGKILL"),
        (143, "SIGTERM"),
        (138, "SIGUSR1"),
        (152, "SIGXCPU"),
    ],
)
def test_a_signal_from_outside_says_nothing_about_the_point(code: int, name: str) -> None:
    outcome = ended(code, STARTED)
    assert (outcome.status, name in outcome.evidence) == (Status.INTERRUPTED, True)


def test_a_program_that_waits_for_ever_is_not_told_to_raise_the_limit() -> None:
    """gem5 simulates up to MaxTick (2^64 - 1, src/base/types.hh) when no event is left and no limit was set."""
    simout = "Ticks: 18446744073709551615\nExiting because  simulate() limit reached\n"
    outcome = ended(0, STARTED, simout)
    assert "waits for ever" in outcome.evidence
    assert "abs-max-tick" not in str(outcome.remedy)
    assert "free(): invalid pointer" in ended(0, STARTED + "free(): invalid pointer\n", simout).evidence
    limited = ended(0, STARTED, simout.replace("18446744073709551615", "1000000000"))
    assert "raise abs-max-tick" in str(limited.remedy)


def test_too_few_bits_of_rubys_sets_name_the_fix() -> None:
    """src/mem/ruby/common/Set.hh."""
    text = "src/mem/ruby/common/Set.hh:214: fatal: Number of bits(64) < size specified(128). Increase the number\n"
    outcome = ended(1, text)
    assert outcome.status is Status.CONFIG_ERROR
    assert "NUMBER_BITS_PER_SET" in str(outcome.remedy)
