"""Sources at a pinned commit: cloned from a URL or a local mirror, or a checkout that the user has."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.prepare.records import ToolRecord

_PROTOCOLS = "file:git:http:https:ssh"


class SourceRecord(ToolRecord):
    """Which sources were used.

    Attributes:
        commit: what is checked out; None for a directory without git.
        changes_sha256: of the uncommitted changes, when there are any (only where they are allowed).
    """

    path: str
    commit: str | None
    changes_sha256: str | None = None

    @property
    def dirty(self) -> bool:
        """Whether it has uncommitted changes."""
        return self.changes_sha256 is not None


def fetch_source(url: str, commit: str, destination: Path, *, mirror: str | None = None) -> SourceRecord:
    """Make a checkout of exactly one commit at ``destination``, whole or not at all.

    Args:
        url: the repository; ``mirror`` (a URL or a local directory) is used instead when given.
        commit: full hash; only this commit is fetched where the server allows it, else everything.

    An existing checkout of that commit without changes is kept. Anything else there is refused, not
    overwritten.

    Raises:
        EngineError: no git, no such repository or commit, no network, or something else stands there.
    """
    place = mirror or url
    if destination.exists():
        return use_checkout(destination, commit=commit)
    if place.startswith("-"):
        raise EngineError("not a repository address", key="url", value=place, remedy="a URL or a directory")
    if Path(place).is_dir():
        place = str(Path(place).resolve())
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", suffix=".part", dir=destination.parent))
    try:
        _git(part, "init", "--quiet")
        _fetch(part, place, commit)
        _git(part, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", commit)
        if _git(part, "rev-parse", "HEAD") != commit:
            raise EngineError("the repository has another commit there", key="commit", value=commit)
        part.chmod(0o755)
        part.rename(destination)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return SourceRecord(path=str(destination), commit=commit)


def _fetch(part: Path, place: str, commit: str) -> None:
    single = ["fetch", "--quiet", "--depth", "1", "--no-tags", "--", place, commit]
    everything = ["fetch", "--quiet", "--tags", "--", place, "+refs/heads/*:refs/remotes/origin/*"]
    try:
        _git(part, *single)
    except EngineError as first:
        try:
            _git(part, *everything)
        except EngineError:
            raise EngineError(
                f"cannot clone {place}: {first.message}",
                key="url",
                value=place,
                remedy="check the address and the network, or name a local mirror under `mirrors` in "
                "configs/site.yaml",
            ) from None
        if not _succeeds(part, "cat-file", "-e", f"{commit}^{{commit}}"):
            raise EngineError(
                f"{place} has no such commit",
                key="commit",
                value=commit,
                remedy="correct the commit in configs/gem5, or use a mirror that has it",
            ) from None


def use_checkout(path: Path, *, commit: str | None = None, allow_dirty: bool = False) -> SourceRecord:
    """Record a checkout that is already there.

    Args:
        commit: what it has to be at; None: whatever it is at is recorded.
        allow_dirty: take uncommitted changes, and record their hash.

    Raises:
        EngineError: it is missing, at another commit, or has changes that are not allowed.
    """
    if not path.is_dir():
        raise EngineError(
            "no such source directory", file=path, remedy="correct the path in configs/site.yaml"
        )
    path = path.resolve()
    if not _succeeds(path, "rev-parse", "--git-dir"):
        if commit is not None or not allow_dirty:
            raise EngineError(
                "the directory is not a git checkout, so what it holds cannot be told",
                file=path,
                remedy="use a git checkout, or set allow_dirty: true in configs/site.yaml",
            )
        return SourceRecord(path=str(path), commit=None, changes_sha256=None)
    head = _git(path, "rev-parse", "HEAD")
    if commit is not None and head != commit:
        raise EngineError(
            f"the checkout is at {head}",
            file=path,
            key="commit",
            value=commit,
            remedy=f"git -C {path} checkout {commit}, or remove the directory",
        )
    changes = _git(path, "status", "--porcelain", "--untracked-files=no")
    if not changes:
        return SourceRecord(path=str(path), commit=head)
    if not allow_dirty:
        raise EngineError(
            f"the checkout has uncommitted changes:\n    {changes.splitlines()[0]}",
            file=path,
            remedy="commit or undo them, or set allow_dirty: true in configs/site.yaml; they are recorded",
        )
    digest = hashlib.sha256(_git(path, "diff", "HEAD", "--binary").encode()).hexdigest()
    return SourceRecord(path=str(path), commit=head, changes_sha256=digest)


def _command(path: Path, arguments: tuple[str, ...]) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise EngineError("git is not on this machine", value="git", remedy="install git")
    return [
        program,
        "-C",
        str(path),
        "-c",
        f"safe.directory={path}",
        "-c",
        "core.hooksPath=/dev/null",
        *arguments,
    ]


def _environment() -> dict[str, str]:
    # A git hook that calls us must not decide which repository we look at.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**clean, "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": _PROTOCOLS, "LC_ALL": "C.UTF-8"}


def _git(path: Path, *arguments: str) -> str:
    result = subprocess.run(
        _command(path, arguments),
        capture_output=True,
        text=True,
        errors="replace",
        env=_environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode != 0:
        verb = next(
            (word for word in arguments if not word.startswith("-") and "=" not in word), arguments[0]
        )
        lines = result.stderr.strip().splitlines() or [f"status {result.returncode}"]
        raise EngineError(f"git {verb}: {lines[-1]}", file=path)
    return result.stdout.strip()


def _succeeds(path: Path, *arguments: str) -> bool:
    try:
        _git(path, *arguments)
    except EngineError:
        return False
    return True
