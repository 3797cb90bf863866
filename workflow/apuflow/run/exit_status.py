"""Exit statuses above 128: the signal that ended gem5, by name.

Source: POSIX Shell Command Language, 2.8.2; Linux ``signal(7)``.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping

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
"""Signals that somebody or something else sends, and what to do."""
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


def named(code: int) -> str:
    """An exit status in words: ``status 2``, ``SIGILL (Illegal instruction; status 132)``."""
    number = signal_of(code)
    if number is None:
        return f"status {code}"
    return f"{number.name} ({signal.strsignal(number)}; status {code})"
