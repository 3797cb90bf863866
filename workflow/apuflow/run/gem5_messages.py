"""What gem5 itself says when it ends: panics, fatal errors, assertions, deadlocks, exit statuses.

Source: ``src/base/logging.cc`` (a message ends with a line ``Memory Usage:``),
``src/mem/slicc/symbols/StateMachine.py`` and ``src/mem/ruby/system/Sequencer.cc`` (controller and state
stand on the second line), ``src/python/m5/SimObject.py`` (``Error setting param`` after the exception),
``src/python/m5/main.py``, pybind11.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from typing import Literal

_MESSAGE = re.compile(r"^(?:.*?[\w./-]+:\d+: )?(?P<kind>panic|fatal): .*$", re.M)
_ASSERTION = re.compile(r"^.*Assertion [`'].*' failed\.?.*$", re.M)
_OWN_ASSERTION = re.compile(
    r"^.*(?:\bgem5[\w.-]*: "
    r"|\b(?:src|build/\w+)/(?:arch|base|cpu|dev|gpu-compute|kern|mem|proto|python|sim|sst)/\S+:\d+: )"
)
_DEADLOCK = re.compile(
    r"^.*(?:Possible [Dd]eadlock detected|Possible network deadlock|Aborting due to deadlock!).*$", re.M
)
_CHATTER = re.compile(
    r"^(?:(?:src|build)/\S+:\d+: (?:warn|info|hack): |command line: |Forcing maxCoalescedReqs |Num SQC = "
    r"|gem5 (?:Simulator System|is copyrighted|version|compiled|started|executing)|Exiting because  ).*$"
    r"|Ticks: \d+$",
    re.M,
)
_OTHER = re.compile(
    r"\S+:\d+: (?:warn|info|hack|panic|fatal): |Memory Usage: |Program aborted |--- BEGIN LIBC BACKTRACE"
    r"|For more info|Ticks: \d|At:$|Exiting because |command line: "
    r"|gem5 (?:Simulator System|version|executing)"
)
_ABORTED = re.compile(r"^Program aborted at (?:tick|cycle) (\d+)", re.M)
_TRACEBACK = "Traceback (most recent call last):"
_PYBIND_ERROR = re.compile(r"^(\w[\w.]*: (?:.*\n)+?)\nAt:\n", re.M)
_PYTHON_ERROR = re.compile(r"^\w[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*$", re.M)
_MOST_LINES = 12
_LAST = "Memory Usage: "
JOIN = " / "
"""Between the lines of one message."""


def message(kind: Literal["panic", "fatal"], text: str) -> str | None:
    """The first message of a kind, with the lines that belong to it."""
    for match in _MESSAGE.finditer(text):
        if match["kind"] == kind:
            return _whole(match[0], text[match.end() :])
    return None


def beginning(text: str) -> int:
    """Where gem5's first panic, fatal error or assertion begins; the text's length where there is none."""
    found = [match.start() for match in (_MESSAGE.search(text), _assertion_of_gem5(text)) if match]
    return min(found, default=len(text))


def assertion(text: str, *, own: bool) -> str | None:
    """The first assertion that failed, and when: gem5's, or where ``own`` is false and none is, anyone's."""
    match = _assertion_of_gem5(text) or (None if own else _ASSERTION.search(text))
    if match is None:
        return None
    aborted = _ABORTED.search(text, match.end())
    return match[0].strip() + (f" (at tick {aborted[1]})" if aborted else "")


def _assertion_of_gem5(text: str) -> re.Match[str] | None:
    return next((match for match in _ASSERTION.finditer(text) if _OWN_ASSERTION.match(match[0])), None)


def deadlock(text: str) -> str | None:
    """The first line that tells of a deadlock, with the lines that belong to it."""
    match = _DEADLOCK.search(text)
    return None if match is None else _whole(match[0], text[match.end() :])


def python_error(text: str) -> str | None:
    """What a script of gem5 ended with: as Python prints it, or as pybind11 does in gem5's main()."""
    if _TRACEBACK in text:
        end = text[text.rindex(_TRACEBACK) :]
        matches = list(_PYTHON_ERROR.finditer(end))
        return _whole(matches[-1][0], end[matches[-1].end() :]) if matches else _TRACEBACK
    match = _PYBIND_ERROR.search(text)
    return None if match is None else _whole(*match[1].split("\n", 1))


def guest_text(text: str) -> str:
    """A stream without what gem5 prints in every run; its command line holds the program's arguments."""
    return _CHATTER.sub("", text)


def _whole(first: str, following: str) -> str:
    """A message's lines as one: up to ``Memory Usage:``, or to a blank line where there is none."""
    lines = [first.strip()] if first.strip() else []
    near = following.removeprefix("\n").split("\n")[:_MOST_LINES]
    marked = any(line.startswith(_LAST) for line in near)
    for line in near:
        if _OTHER.match(line) or not (line.strip() or marked):
            break
        if line.strip():
            lines.append(line.strip())
    return JOIN.join(lines)


FROM_OUTSIDE: Mapping[signal.Signals | None, str] = {
    signal.SIGHUP: "run again",
    signal.SIGINT: "run again",
    signal.SIGQUIT: "run again",
    signal.SIGKILL: "run again",
    signal.SIGTERM: "run again",
    signal.SIGUSR1: "run again",
    signal.SIGUSR2: "run again",
    signal.SIGXCPU: "raise the limit of processor time (`ulimit -t`), then run again",
    signal.SIGXFSZ: "raise the limit of a file's size (`ulimit -f`), then run again",
}
"""Signals that somebody or something else sends, and what to do. Source: Linux ``signal(7)``."""
REMEDIES: Mapping[signal.Signals, str] = {
    signal.SIGILL: "gem5 or a library of it was compiled for another processor (-march=native elsewhere): "
    "build it on this machine, or leave -march out",
    signal.SIGBUS: "make room in /dev/shm and on the disk: a mapped file was cut or could not grow",
}
"""What to do about signals that a process brings upon itself."""


def signal_of(code: int) -> signal.Signals | None:
    """The signal that an exit status as a shell shows it (128 and its number) stands for."""
    try:
        return signal.Signals(code - 128)
    except ValueError:
        return None


def status_name(code: int) -> str:
    """An exit status in words: ``status 2``, ``SIGILL (Illegal instruction; status 132)``."""
    number = signal_of(code)
    if number is None:
        return f"status {code}"
    return f"{number.name} ({signal.strsignal(number)}; status {code})"
