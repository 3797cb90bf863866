"""Results of checks of this machine, and shared checks of programs and source repositories."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.git import git


class Use(StrEnum):
    """Uses of this machine: the engines, with engine gem5 by kind of program."""

    PREVIEW = "preview"
    KERNELS = "gem5-kernels"
    DNNMARK = "gem5"
    PROGRAM = "command"


SIMULATING = (Use.KERNELS, Use.DNNMARK, Use.PROGRAM)
_NETWORK_SECONDS = 15.0


class State(StrEnum):
    """Result of a check: ok, a remark, or a missing requirement."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """A requirement of uses of this machine.

    Attributes:
        uses: the uses that need it.
        fix: what to do if it is not ok.
    """

    name: str
    state: State
    detail: str
    uses: tuple[Use, ...]
    fix: str | None = None


def attempt(name: str, uses: tuple[Use, ...], check: Callable[[], str]) -> Check:
    """Run a check that returns its finding or raises ApuflowError."""
    try:
        return Check(name, State.OK, check(), uses)
    except ApuflowError as error:
        detail = error.message if error.file is None else f"{error.message} ({error.file})"
        return Check(name, State.MISSING, detail, uses, error.remedy)


def source(
    name: str, uses: tuple[Use, ...], directory: str | None, address: str, made: Path, *, network: bool
) -> Iterator[Check]:
    """Whether sources exist or can be fetched.

    Args:
        directory: the site's checkout, which must exist; None: no checkout.
        address: where to fetch them.
        made: the workflow's checkout; if it exists, nothing is fetched.
        network: also contact the address.
    """
    if directory is not None:
        exists = Path(directory).is_dir()
        fix = None if exists else "correct the path in configs/site.yaml"
        yield Check(name, State.OK if exists else State.MISSING, directory, uses, fix)
        return
    tool = program("git", (Use.DNNMARK, Use.KERNELS), "apt install git")
    yield tool
    if tool.state is not State.OK:
        return
    if made.is_dir() or Path(address).is_dir() or not network:
        yield Check(name, State.OK, f"in {made}" if made.is_dir() else f"from {address}", uses)
        return
    problem = _unreachable(address)
    yield Check(
        name,
        State.OK if problem is None else State.MISSING,
        f"{address} answers" if problem is None else f"{address} does not answer: {problem}",
        uses,
        None
        if problem is None
        else "check the network, or name a local mirror under mirrors in configs/site.yaml",
    )


def _unreachable(address: str) -> str | None:
    try:
        git(Path(), "ls-remote", "--exit-code", "--", address, "HEAD", timeout=_NETWORK_SECONDS)
    except EngineError as error:
        return error.message
    return None


def program(name: str, uses: tuple[Use, ...], fix: str) -> Check:
    """Whether a program exists."""
    path = shutil.which(name)
    return Check(name, State.OK if path else State.MISSING, path or "not found", uses, None if path else fix)
