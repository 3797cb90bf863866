"""Sources at a pinned commit: cloned from a URL or a local mirror, or the user's checkout."""

from __future__ import annotations

import hashlib
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.core.files import make_directory_once
from apuflow.core.git import changes_of, commit_of, git
from apuflow.prepare.records import ToolRecord


class SourceRecord(ToolRecord):
    """The used sources.

    Attributes:
        commit: of the checkout; None without git.
        changes_sha256: of the uncommitted changes, if they are allowed and exist.
    """

    path: str
    commit: str | None
    changes_sha256: str | None = None

    @property
    def dirty(self) -> bool:
        """Whether it has uncommitted changes."""
        return self.changes_sha256 is not None


def fetch_source(url: str, commit: str, destination: Path, *, mirror: str | None = None) -> SourceRecord:
    """Make a checkout of a commit at ``destination`` atomically.

    Args:
        url: the repository; ``mirror`` (a URL or a local directory) replaces it.
        commit: full hash; only this commit is fetched if the server allows it, else everything.

    An existing clean checkout of that commit is kept. Anything else there is refused.

    Raises:
        EngineError: no git, no such repository or commit, no network, or another existing directory.
    """
    if not destination.exists():
        place = mirror or url
        if place.startswith("-"):
            raise EngineError(
                "not a repository address", key="url", value=place, remedy="a URL or a directory"
            )
        # Two releases of the same commit are fetched by two jobs at the same time.
        with make_directory_once(destination) as part:
            if part is not None:
                clone_into(part, str(Path(place).resolve()) if Path(place).is_dir() else place, commit)
    return use_checkout(destination, commit=commit)


def clone_into(directory: Path, place: str, commit: str) -> None:
    """Check out a commit of the repository at ``place`` in an empty directory.

    Raises:
        EngineError: no git, no such repository or commit, no network.
    """
    git(directory, "init", "--quiet")
    _fetch(directory, place, commit)
    git(directory, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", commit)
    if commit_of(directory) != commit:
        raise EngineError("the repository has another commit there", key="commit", value=commit)


def _fetch(directory: Path, place: str, commit: str) -> None:
    single = ["fetch", "--quiet", "--depth", "1", "--no-tags", "--", place, commit]
    everything = ["fetch", "--quiet", "--tags", "--", place, "+refs/heads/*:refs/remotes/origin/*"]
    try:
        git(directory, *single)
    except EngineError as first:
        try:
            git(directory, *everything)
        except EngineError:
            raise EngineError(
                f"cannot clone {place}: {first.message}",
                key="url",
                value=place,
                remedy="check the address and the network, or name a local mirror under `mirrors` in "
                "configs/site.yaml",
            ) from None
        if not _succeeds(directory, "cat-file", "-e", f"{commit}^{{commit}}"):
            raise EngineError(
                f"{place} has no such commit",
                key="commit",
                value=commit,
                remedy="correct the commit in configs/gem5, or use a mirror that has it",
            ) from None


def use_checkout(path: Path, *, commit: str | None = None, allow_dirty: bool = False) -> SourceRecord:
    """Record an existing checkout.

    Args:
        commit: the required commit; None: any.
        allow_dirty: accept uncommitted changes and record their hash.

    Raises:
        EngineError: it is missing, at another commit, or has forbidden changes.
    """
    if not path.is_dir():
        raise EngineError(
            "no such source directory", file=path, remedy="correct the path in configs/site.yaml"
        )
    path = path.resolve()
    if not _succeeds(path, "rev-parse", "--git-dir"):
        if commit is not None or not allow_dirty:
            raise EngineError(
                "the directory is not a git checkout, so its commit is unknown",
                file=path,
                remedy="use a git checkout"
                + ("" if commit else ", or set allow_dirty: true in configs/site.yaml"),
            )
        return SourceRecord(path=str(path), commit=None, changes_sha256=None)
    head = commit_of(path)
    if commit is not None and head != commit:
        raise EngineError(
            f"the checkout is at {head}",
            file=path,
            key="commit",
            value=commit,
            remedy=f"git -C {path} checkout {commit}, or remove the directory",
        )
    changes = changes_of(path)
    if not changes:
        return SourceRecord(path=str(path), commit=head)
    if not allow_dirty:
        first = git(path, "diff", "--name-only", "HEAD").partition("\n")[0]
        raise EngineError(
            f"the checkout has uncommitted changes; the first changed file is {first}",
            file=path,
            remedy=f"put them aside: git -C {path} stash"
            if commit is not None
            else "commit or undo them, or set allow_dirty: true in configs/site.yaml; they are recorded",
        )
    return SourceRecord(path=str(path), commit=head, changes_sha256=hashlib.sha256(changes).hexdigest())


def _succeeds(path: Path, *arguments: str) -> bool:
    try:
        git(path, *arguments)
    except EngineError:
        return False
    return True
