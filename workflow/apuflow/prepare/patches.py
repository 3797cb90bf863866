"""Patches of gem5's sources, applied to a separate clean checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.core.errors import EngineError
from apuflow.core.files import make_directory_once, sha256_file
from apuflow.core.git import git
from apuflow.prepare.sources import SourceRecord, clone_into, use_checkout


@dataclass(frozen=True)
class Patch:
    """A patch file.

    Attributes:
        place: its name in the configuration.
        file: its path.
        sha256: of its bytes.
    """

    place: str
    file: Path
    sha256: str

    def __str__(self) -> str:
        return f"{self.place} {self.sha256[:12]}"


def gem5_patches(release: Release, site: Site) -> tuple[str, ...]:
    """The patches of gem5's sources in order: the release's, then the site's. A site's own gem5 has none."""
    return () if site.gem5.binary is not None else (*release.gem5.patches, *site.gem5.patches)


def read_patches(places: Sequence[str], root: Path) -> tuple[Patch, ...]:
    """The patch files of the configuration.

    Raises:
        EngineError: a file is missing.
    """
    for place in places:
        if not (root / place).is_file():
            raise EngineError(
                "there is no such patch for gem5",
                file=root / place,
                key="gem5.patches",
                remedy="correct the path: it is relative to the project's directory",
            )
    return tuple(Patch(place, root / place, sha256_file(root / place)) for place in places)


def patched_source(source: SourceRecord, patches: Sequence[Patch], directory: Path) -> SourceRecord:
    """Make a checkout with patches atomically below ``directory``.

    Args:
        source: the original checkout, which stays unchanged.
        directory: place of patched checkouts, which are named by commit and patches.

    Raises:
        EngineError: the checkout has changes or no commit, a patch does not apply (with file and place), or
        the patched checkout was changed.
    """
    if source.commit is None or source.dirty:
        raise EngineError(
            "patches are applied to a checkout without changes of its own",
            file=source.path,
            key="gem5.patches",
            remedy="commit or undo the changes there, or make them a patch, too",
        )
    together = hashlib.sha256("".join(patch.sha256 for patch in patches).encode()).hexdigest()
    place = directory.resolve() / f"gem5-{source.commit[:12]}-{together[:8]}"
    with make_directory_once(place) as part:
        if part is not None:
            clone_into(part, source.path, source.commit)
            for patch in patches:
                _apply(patch, part, source.commit)
    if changed := git(place, "diff", "--name-only"):
        raise EngineError(
            f"the patched gem5 sources have been changed; the first file is {changed.splitlines()[0]}",
            file=place,
            remedy="remove the directory: it is made again; make the changes a patch to keep them",
        )
    return use_checkout(place, commit=source.commit, allow_dirty=True)


def _apply(patch: Patch, checkout: Path, commit: str) -> None:
    try:
        git(checkout, "apply", "--index", "--whitespace=nowarn", "--", str(patch.file.resolve()))
    except EngineError as error:
        raise EngineError(
            f"the patch does not apply to gem5 {commit[:12]}: {error.message}",
            file=patch.file,
            key="gem5.patches",
            remedy="make it against that commit and after the patches before it (git diff in such a "
            "checkout), or take it out of the list",
        ) from None
