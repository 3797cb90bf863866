"""Sources at a pinned commit: cloned, with patches in a checkout of their own, or the user's checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.core.errors import EngineError
from apuflow.core.files import make_directory_once, sha256_file
from apuflow.core.git import changes_of, commit_of, git
from apuflow.prepare.records import ToolRecord
from apuflow.rocblas.tables import ROCBLAS_COMMIT, ROCBLAS_URL, TENSILE_COMMIT, TENSILE_URL

MIRROR = "name a local mirror under `mirrors` in configs/site.yaml"


class SourceRecord(ToolRecord):
    """The used sources, their commit (None without git), and a hash of uncommitted changes."""

    path: str
    commit: str | None
    changes_sha256: str | None = None

    @property
    def dirty(self) -> bool:
        """Whether it has uncommitted changes."""
        return self.changes_sha256 is not None


class Origin(NamedTuple):
    """Where a repository's sources come from: its address or the site's mirror; the site's own checkout."""

    address: str
    commit: str
    checkout: str | None = None
    allow_dirty: bool = False


def origin(repository: str, release: Release, site: Site) -> Origin:
    """Where the sources of gem5, resources (gem5-resources), miopen, rocblas or tensile come from."""
    gem5, resources, miopen = release.gem5, release.resources, release.miopen.source
    own, dnnmark, mirrors = site.gem5, site.dnnmark, site.mirrors
    address = mirrors.gem5_resources or resources.url
    return {
        "gem5": Origin(mirrors.gem5 or gem5.url, gem5.commit, own.source, own.allow_dirty),
        "resources": Origin(address, resources.commit, dnnmark.source, dnnmark.allow_dirty),
        "miopen": Origin(mirrors.miopen or miopen.url, miopen.commit),
        "rocblas": Origin(mirrors.rocblas or ROCBLAS_URL, ROCBLAS_COMMIT, site.rocblas_source),
        "tensile": Origin(mirrors.tensile or TENSILE_URL, TENSILE_COMMIT, site.tensile_source),
    }[repository]


def fetch_source(place: str, commit: str, destination: Path) -> SourceRecord:
    """Make a checkout of a commit of the repository at ``place``, a URL or a directory, atomically.

    An existing clean checkout of that commit is kept. Anything else there is refused.

    Raises EngineError: no git, no such repository or commit, no network, or another existing directory.
    """
    if not destination.exists():
        if place.startswith("-"):
            remedy = "a URL or a directory"
            raise EngineError("not a repository address", key="url", value=place, remedy=remedy)
        # Two releases of the same commit are fetched by two jobs at the same time.
        with make_directory_once(destination) as part:
            if part is not None:
                clone_into(part, str(Path(place).resolve()) if Path(place).is_dir() else place, commit)
    return use_checkout(destination, commit=commit)


def clone_into(directory: Path, place: str, commit: str) -> None:
    """Check out a commit of the repository at ``place`` in an empty directory."""
    git(directory, "init", "--quiet")
    _fetch(directory, place, commit)
    git(directory, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", commit)
    if commit_of(directory) != commit:
        raise EngineError("the repository has another commit there", key="commit", value=commit)


def _fetch(directory: Path, place: str, commit: str) -> None:
    """Fetch only this commit if the server allows it, else everything."""
    single = ["fetch", "--quiet", "--depth", "1", "--no-tags", "--", place, commit]
    everything = ["fetch", "--quiet", "--tags", "--", place, "+refs/heads/*:refs/remotes/origin/*"]
    try:
        git(directory, *single)
    except EngineError as first:
        try:
            git(directory, *everything)
        except EngineError:
            message = f"cannot clone {place}: {first.message}"
            remedy = f"check the address and the network, or {MIRROR}"
            raise EngineError(message, key="url", value=place, remedy=remedy) from None
        if not _succeeds(directory, "cat-file", "-e", f"{commit}^{{commit}}"):
            remedy = "correct the commit in configs/gem5, or use a mirror that has it"
            message = f"{place} has no such commit"
            raise EngineError(message, key="commit", value=commit, remedy=remedy) from None


def use_checkout(path: Path, *, commit: str | None = None, allow_dirty: bool = False) -> SourceRecord:
    """Record an existing checkout, with a hash of its uncommitted changes if these are allowed.

    Raises EngineError if it is missing, at another commit than the required one, or has forbidden changes.
    """
    if not path.is_dir():
        remedy = "correct the path in configs/site.yaml"
        raise EngineError("no such source directory", file=path, remedy=remedy)
    path = path.resolve()
    if not _succeeds(path, "rev-parse", "--git-dir"):
        if commit is not None or not allow_dirty:
            message = "the directory is not a git checkout, so its commit is unknown"
            other = "" if commit else ", or set allow_dirty: true in configs/site.yaml"
            raise EngineError(message, file=path, remedy=f"use a git checkout{other}")
        return SourceRecord(path=str(path), commit=None)
    head = commit_of(path)
    if commit is not None and head != commit:
        remedy = f"git -C {path} checkout {commit}, or remove the directory"
        raise EngineError(f"the checkout is at {head}", file=path, key="commit", value=commit, remedy=remedy)
    changes = changes_of(path)
    if not changes:
        return SourceRecord(path=str(path), commit=head)
    if not allow_dirty:
        first = git(path, "diff", "--name-only", "HEAD").partition("\n")[0]
        message = f"the checkout has uncommitted changes; the first changed file is {first}"
        remedy = "commit or undo them, or set allow_dirty: true in configs/site.yaml; they are recorded"
        if commit is not None:
            remedy = f"put them aside: git -C {path} stash"
        raise EngineError(message, file=path, remedy=remedy)
    return SourceRecord(path=str(path), commit=head, changes_sha256=hashlib.sha256(changes).hexdigest())


def _succeeds(path: Path, *arguments: str) -> bool:
    try:
        git(path, *arguments)
    except EngineError:
        return False
    return True


@dataclass(frozen=True)
class Patch:
    """A patch file; ``place`` is its name in the configuration."""

    place: str
    file: Path
    sha256: str

    def __str__(self) -> str:
        return f"{self.place} {self.sha256[:12]}"


def gem5_patches(release: Release, site: Site) -> tuple[str, ...]:
    """The patches of gem5's sources in order: the release's, then the site's. A site's own gem5 has none."""
    return () if site.gem5.binary is not None else (*release.gem5.patches, *site.gem5.patches)


def read_patches(places: Sequence[str], root: Path) -> tuple[Patch, ...]:
    """The patch files of the configuration. Raises EngineError if one is missing."""
    for place in places:
        if not (root / place).is_file():
            remedy = "correct the path: it is relative to the project's directory"
            raise _patch_error("there is no such patch for gem5", root / place, remedy)
    return tuple(Patch(place, root / place, sha256_file(root / place)) for place in places)


def patched_source(source: SourceRecord, patches: Sequence[Patch], directory: Path) -> SourceRecord:
    """Make a checkout with patches atomically below ``directory``, named by commit and patches.

    Raises EngineError if the original checkout has changes or no commit, a patch does not apply (with file
    and place), or the patched checkout was changed.
    """
    if source.commit is None or source.dirty:
        remedy = "commit or undo the changes there, or make them a patch, too"
        message = "patches are applied to a checkout without changes of its own"
        raise _patch_error(message, source.path, remedy)
    together = hashlib.sha256("".join(patch.sha256 for patch in patches).encode()).hexdigest()
    place = directory.resolve() / f"gem5-{source.commit[:12]}-{together[:8]}"
    with make_directory_once(place) as part:
        if part is not None:
            clone_into(part, source.path, source.commit)
            for patch in patches:
                try:
                    git(part, "apply", "--index", "--whitespace=nowarn", "--", str(patch.file.resolve()))
                except EngineError as error:
                    message = f"the patch does not apply to gem5 {source.commit[:12]}: {error.message}"
                    remedy = (
                        "make it against that commit and after the patches before it (git diff in such a "
                        "checkout), or take it out of the list"
                    )
                    raise _patch_error(message, patch.file, remedy) from None
    if changed := git(place, "diff", "--name-only"):
        message = f"the patched gem5 sources have been changed; the first file is {changed.splitlines()[0]}"
        remedy = "remove the directory: it is made again; make the changes a patch to keep them"
        raise EngineError(message, file=place, remedy=remedy)
    return use_checkout(place, commit=source.commit, allow_dirty=True)


def _patch_error(message: str, file: Path | str, remedy: str) -> EngineError:
    return EngineError(message, file=file, key="gem5.patches", remedy=remedy)
