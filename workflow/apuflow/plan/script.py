"""What every rule's script shares: output goes to the rule's log, a mistake is a message, no traceback.

A script is started by Snakemake, which puts an object ``snakemake`` before it (wildcards, inputs, outputs).
"""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from apuflow.core.errors import DescribedError
from apuflow.plan.storage import in_the_project

_DISK = "ENOSPC EDQUOT EROFS EACCES EPERM EIO EMFILE ENFILE ENOTDIR ESTALE"
ENVIRONMENT_ERRNOS = tuple(getattr(errno, name) for name in _DISK.split())
"""Errors that are no defect of ours: a full, read-only or failing disk."""


@contextlib.contextmanager
def rule(snakemake: Any) -> Iterator[tuple[Path, Path]]:
    """Around a rule's script (see ``logged`` and ``in_the_project``): yields its first output and its log."""
    log = Path(snakemake.log[0])
    with logged(log), in_the_project(snakemake):
        yield Path(snakemake.output[0]), log


@contextlib.contextmanager
def logged(log: str | Path) -> Iterator[None]:
    """Send stdout and stderr of the body to the file ``log``; turn our errors into their message.

    Raises:
        SystemExit: with status 1 after any failure; the log holds the message (or, for a defect of ours, the
            traceback), and Snakemake shows it. Where no log can be written, it stands on stderr.
    """
    path = Path(log)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        print(_environment_message(error), file=sys.stderr)
        raise SystemExit(1) from None
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            yield
    except DescribedError as error:
        _say(stream, str(error))
        raise SystemExit(1) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in ENVIRONMENT_ERRNOS:
            _say(stream, _environment_message(error))
        else:
            _say(stream, traceback.format_exc())
            print(f"unexpected error, see {path}", file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        with contextlib.suppress(OSError):
            stream.close()


def _environment_message(error: OSError) -> str:
    where = f"\n  file:  {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}\n  fix:   make room there or give permission, then run again"


def _say(stream: TextIO, text: str) -> None:
    try:
        print(text, file=stream)
    except OSError:  # the log's own disk is full
        print(text, file=sys.stderr)
