"""The command that runs a program under gem5's apu_se.py: every option explicit, no side effects."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.run import kernel_trace

STATISTICS = "stats.txt"
ENVIRONMENT = "guest.env"
OUTDIR = "m5out"
_QUICK_STATISTICS = Path(__file__).with_name("quick_statistics.py")
"""Runs inside gem5: it must not be imported. A run has a copy of its own, which its container sees."""
GUEST_PATHS = ("/tmp", "/proc", "/sys")
"""apu_se.py shows the guest its own versions of these, below ``<outdir>/fs``.

``Process::checkPathRedirect`` compares the start of the text, so ``/tmpdir`` is caught too.
"""

ROCM = "/opt/rocm"


@dataclass(frozen=True)
class Gem5:
    """An installed gem5.

    Attributes:
        binary: ``gem5.opt``.
        script: ``configs/example/apu_se.py`` of the same sources.
        stdout_file, stderr_file: what ``-r`` and ``-e`` call their files (``simout``; from v23.1
        ``simout.txt``).
        traces: whether it can write a trace (gem5.fast is built without).
        quick_statistics: it keeps its lists of statistics from one block to the next.
    """

    binary: Path
    script: Path
    stdout_file: str = "simout"
    stderr_file: str = "simerr"
    traces: bool = True
    quick_statistics: bool = False


@dataclass(frozen=True)
class Guest:
    """A program to run inside gem5.

    Attributes:
        directory: where the program lies (``--benchmark-root``).
        program: its file name.
        arguments: apu_se.py splits them at white space and knows no quoting, so none can hold any.
        environment: all of the guest's environment (apu_se.py's ``--env`` replaces its default one).
    """

    directory: Path
    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def rocm_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The guest environment that apu_se.py itself would set, with another HOME, plus ``extra``.

    HOME decides where MIOpen looks for its kernel database. Interrupt signals on and SDMA off are apu_se.py's
    own settings (its process environment, "We don't have an SDMA hardware model").
    """
    own = ("hcc", "hsa", "hip", "libhsakmt", "miopen", "miopengemm", "hipblas", "rocblas")
    search = [f"{ROCM}/lib", *(f"{ROCM}/{name}/lib" for name in own), "/usr/lib/x86_64-linux-gnu"]
    return {
        "LD_LIBRARY_PATH": ":".join(search),
        "HOME": str(home),
        "HSA_ENABLE_INTERRUPT": "1",
        "HSA_ENABLE_SDMA": "0",
        **(extra or {}),
    }


def environment_file(environment: Mapping[str, str]) -> str:
    """The text of an ``--env`` file. ConfigError for a name or value that a line cannot hold."""
    for name, value in environment.items():
        if not name or set(name) & set("=\n\0") or set(value) & set("\n\r\0"):
            said = "a guest variable cannot be written to apu_se.py's environment file"
            remedy = "no line breaks, and no = in the name"
            raise ConfigError(said, key=name, value=value, remedy=remedy)
        if value != value.rstrip():
            said = "apu_se.py drops white space at the end of a variable"
            raise ConfigError(said, key=name, value=value, remedy="remove it")
    return "".join(f"{name}={value}\n" for name, value in environment.items())


def start_files(gem5: Gem5, environment: Mapping[str, str]) -> dict[str, str]:
    """What the working directory holds for :func:`gem5_command`, by name."""
    files = {ENVIRONMENT: environment_file(environment)}
    if gem5.quick_statistics:
        files[_QUICK_STATISTICS.name] = _QUICK_STATISTICS.read_text(encoding="utf-8")
    return files


def gem5_command(
    gem5: Gem5,
    options: Mapping[str, Scalar | None],
    guest: Guest,
    directory: Path,
    *,
    trace_workgroups: bool = False,
    before: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The whole command line of one simulation.

    Args:
        options: apu_se.py's options by name without dashes; True gives a flag, False and None leave it out.
        directory: the working directory, with its :func:`start_files`. One per run, since apu_se.py builds
            its fake /proc and /sys in its output directory there.
        trace_workgroups: trace the begin and end of every workgroup beside the kernels.
        before: a script that gem5 runs in place of apu_se.py, and its own arguments.

    Raises:
        ConfigError: something in it cannot reach the guest as it is.
    """
    for argument in guest.arguments:
        if not argument or argument.split() != [argument]:
            said = "apu_se.py splits the program's arguments at white space; this one cannot be passed"
            remedy = "use paths without white space, relative to the run directory"
            raise ConfigError(said, value=argument, remedy=remedy)
    words = [str(gem5.binary), "-r", "-e", "-d", str(directory / OUTDIR)]
    words += [f"--stats-file={STATISTICS}", "--dot-config=", "--json-config="]
    if gem5.traces:
        flags = [*kernel_trace.FLAGS, *([kernel_trace.WORKGROUP_FLAG] if trace_workgroups else [])]
        words += [f"--debug-flags={','.join(flags)}", f"--debug-file={kernel_trace.FILE}"]
    quick = [str(directory / _QUICK_STATISTICS.name)] if gem5.quick_statistics else []
    words += [*before, *quick, str(gem5.script)]
    for name, value in options.items():
        if name.startswith("-") or "=" in name or name.split() != [name]:
            raise ConfigError("not an apu_se.py option", key=name, remedy="the name alone, without dashes")
        if name == "gfx-version" and value in GPUS:
            value = GPUS[str(value)].told
        if value is True:
            words.append(f"--{name}")
        elif value is not False and value is not None:
            words.append(f"--{name}={value}")
    words += [f"--env={directory / ENVIRONMENT}", f"--benchmark-root={guest.directory}"]
    words += [f"--cmd={guest.program}", f"--options={' '.join(guest.arguments)}"]
    return tuple(words)


def refuse_redirected(directory: Path) -> None:
    """ConfigError for a directory that a program inside gem5 cannot see."""
    for start in GUEST_PATHS:
        if str(directory).startswith(start):
            said = (
                f"a program inside gem5 cannot read files below {start}: apu_se.py shows it another {start}"
            )
            remedy = "move the project to another directory, such as one below your home"
            raise ConfigError(said, value=str(directory), remedy=remedy)


def command_script(command: tuple[str, ...], cwd: Path, note: str) -> str:
    """A shell script that runs a command again by hand."""
    lines = " \\\n  ".join(shlex.quote(word) for word in command)
    comment = note.replace("\n", " ")
    return f"#!/bin/sh\n# {comment}\ncd {shlex.quote(str(cwd))} || exit 1\nexec {lines}\n"
