"""Upstream's Dockerfile with the release's repairs: a copy of its directory, never the checkout itself."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure import yaml_source
from apuflow.configure.image_repair import DOCKERFILE, Repair
from apuflow.core.errors import ConfigError, EngineError
from apuflow.prepare.records import ToolRecord


class DockerfileRecord(ToolRecord):
    """What an image was built from.

    Attributes:
        directory: of the Dockerfile, in gem5's sources.
        commit: of these sources; None: they have no git.
        repairs: names of the repairs that were made, in order.
        sha256: by file: of the Dockerfile as it was built, and of other files that repairs changed.
        text: the Dockerfile as it was built.
    """

    directory: str
    commit: str | None
    repairs: tuple[str, ...]
    sha256: dict[str, str]
    text: str

    def __str__(self) -> str:
        commit = f" of gem5 {self.commit[:12]}" if self.commit else ""
        repairs = f", repairs {', '.join(self.repairs)}" if self.repairs else ""
        return f"{self.directory}/{DOCKERFILE}{commit} (sha256 {self.sha256[DOCKERFILE]}){repairs}"


@dataclass(frozen=True)
class DockerfileBuild:
    """What an image is built from.

    Attributes:
        checkout: gem5's sources.
        commit: of these sources; None: not known.
        repairs: made in this order.
        release_file: where the repairs are written.
    """

    checkout: Path = Path()
    commit: str | None = None
    repairs: Sequence[Repair] = ()
    release_file: Path = Path()


def repaired_context(build: DockerfileBuild, directory: str, copy: Path) -> DockerfileRecord:
    """Copy a Dockerfile's directory and make the repairs in the copy.

    Args:
        directory: of the Dockerfile, in the checkout.
        copy: where the copy is made; not there yet.

    Raises:
        EngineError: there is no Dockerfile.
        ConfigError: a repair whose file is not there, or whose text is there another number of times than
            ``times`` says. The message names the release's file and the repair.
    """
    if not (build.checkout / directory / DOCKERFILE).is_file():
        raise EngineError(
            "no Dockerfile here",
            file=build.checkout / directory,
            remedy="correct image.sources in configs/gem5",
        )
    shutil.copytree(build.checkout / directory, copy, symlinks=True)
    for index, repair in enumerate(build.repairs):
        _make(repair, index, build, directory, copy)
    changed = dict.fromkeys((DOCKERFILE, *(repair.file for repair in build.repairs)))
    return DockerfileRecord(
        directory=directory,
        commit=build.commit,
        repairs=tuple(repair.name for repair in build.repairs),
        sha256={name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in changed},
        text=(copy / DOCKERFILE).read_bytes().decode(errors="replace"),
    )


def _make(repair: Repair, index: int, build: DockerfileBuild, directory: str, copy: Path) -> None:
    file = copy / repair.file
    there = file.is_file() and file.resolve().is_relative_to(copy.resolve())
    try:
        before = file.read_bytes().decode() if there else ""
    except UnicodeDecodeError:
        there = False
    place = f"{directory}/{repair.file}" + (f" of gem5 {build.commit[:12]}" if build.commit else "")
    if not there:
        raise ConfigError(
            f"the repair {repair.name} changes a text file that is not there: {place}",
            file=_line(build.release_file, index, "file"),
            key=f"image.repairs.{index}.file",
            value=repair.file,
            remedy=f"correct the file, or remove the repair {repair.name}",
        )
    after, count = repair.apply(before)
    if count != repair.times:
        key = next(key for key in ("replace", "pattern", "after") if getattr(repair, key) is not None)
        meaning = (
            "remove the repair if upstream has mended this, else correct its text after that file"
            if count == 0
            else f"make its text longer, so that it matches one place, or say times: {count}"
        )
        raise ConfigError(
            f"the repair {repair.name} does not match: {place} has its text {_times(count)}, "
            f"not {_times(repair.times)}",
            file=_line(build.release_file, index, key),
            key=f"image.repairs.{index}.{key}",
            value=repair.sought,
            remedy=meaning,
        )
    file.write_bytes(after.encode())


def _line(file: Path, index: int, key: str) -> str:
    """The release's file with the line of a repair's key, where the file gives the key."""
    document = yaml_source.load(file)
    return document.where(("image", "repairs", index, key))


def _times(count: int) -> str:
    return {0: "nowhere", 1: "once"}.get(count, f"{count} times")
