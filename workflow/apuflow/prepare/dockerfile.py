"""Upstream's Dockerfile with repairs in a copy of its directory."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure import yaml_source
from apuflow.configure.image_source import DOCKERFILE, Repair
from apuflow.configure.yaml_source import dotted
from apuflow.core.errors import ConfigError, EngineError
from apuflow.prepare.records import ToolRecord


class DockerfileRecord(ToolRecord):
    """Sources of a built image.

    Attributes:
        directory: of the Dockerfile, in gem5's sources.
        commit: of these sources; None without git.
        repairs: names of the applied repairs in order.
        sha256: by file: of the built Dockerfile, and of other repaired files.
        text: the built Dockerfile.
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
    """Sources for building an image.

    Attributes:
        checkout: gem5's sources.
        commit: of these sources; None: unknown.
        repairs: in the order of application.
        file: the file that defines the repairs.
        number: of the source in ``image.sources`` of that file, from 0.
    """

    checkout: Path = Path()
    commit: str | None = None
    repairs: Sequence[Repair] = ()
    file: Path = Path()
    number: int = 0

    def problem(self, repair: int, key: str, message: str, *, value: str, remedy: str) -> ConfigError:
        """The error of a repair's key, with its line in the file."""
        location = ("image", "sources", self.number, "repairs", repair, key)
        file = yaml_source.load(self.file).where(location)
        return ConfigError(message, file=file, key=dotted(location), value=value, remedy=remedy)


def repaired_context(build: DockerfileBuild, directory: str, copy: Path) -> DockerfileRecord:
    """Copy a Dockerfile's directory and repair the copy.

    Args:
        directory: of the Dockerfile, in the checkout.
        copy: the new directory.

    Raises:
        EngineError: there is no Dockerfile.
        ConfigError: a repair's file is missing, or its text does not occur ``times`` times; with the repair's
            file and line.
    """
    dockerfile = build.checkout / directory / DOCKERFILE
    if not dockerfile.is_file() or dockerfile.is_symlink():
        raise EngineError(
            "no Dockerfile here",
            file=dockerfile.parent,
            remedy="correct image.sources in configs/gem5",
        )
    shutil.copytree(dockerfile.parent, copy, symlinks=True)
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
    """Apply a repair to the copy."""
    place = f"{directory}/{repair.file}" + (f" of gem5 {build.commit[:12]}" if build.commit else "")
    before = _text(copy / repair.file, copy)
    if before is None:
        raise build.problem(
            index,
            "file",
            f"the repair {repair.name} changes a text file that is not there: {place}",
            value=repair.file,
            remedy=f"correct the file, or remove the repair {repair.name}",
        )
    after, count = repair.apply(before)
    if count != repair.times:
        raise build.problem(
            index,
            next(key for key in ("replace", "pattern", "after") if getattr(repair, key) is not None),
            f"the repair {repair.name} does not match: {place} has its text {_times(count)}, "
            f"not {_times(repair.times)}",
            value=repair.sought,
            remedy=f"make its text longer, so that it matches one place, or say times: {count}"
            if count
            else "remove the repair if upstream has mended this, else correct its text after that file",
        )
    (copy / repair.file).write_bytes(after.encode())


def _text(file: Path, copy: Path) -> str | None:
    """Text of a file of the copy; None: missing, outside of it, or not text."""
    if not file.is_file() or not file.resolve().is_relative_to(copy.resolve()):
        return None
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        return None


def _times(count: int) -> str:
    return {0: "nowhere", 1: "once"}.get(count, f"{count} times")
