"""What images are built from: recipes of several stages, and gem5's Dockerfile with repairs in a copy."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, NonNegativeFloat

from apuflow.configure import yaml_source
from apuflow.configure.base import Model, Size, Text, read
from apuflow.configure.image_source import DOCKERFILE, Repair
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import sha256_file, write_text
from apuflow.core.units import format_duration, size_bytes
from apuflow.prepare.records import ToolRecord

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<name>\S+))?\s*$", re.I)
_ARG = re.compile(r"^\s*ARG\s+(?P<name>[A-Za-z_]\w*)", re.I)


class RecipeNotes(Model):
    """The optional ``recipe.yaml`` next to a recipe's Dockerfile."""

    description: Text | None = Field(None, description="what the image is for")
    minutes: dict[str, NonNegativeFloat] = Field(
        default_factory=dict, description="by stage: how long it takes on two cores, for estimates"
    )
    disk: Size | None = Field(None, description="what the image and its stages take, such as 20GB")


@dataclass(frozen=True)
class Recipe:
    """A recipe's directory.

    Attributes:
        stages: names of the Dockerfile's stages in order; the last one is the image.
        arguments: names of the build arguments that the Dockerfile declares.
        minutes: estimated time of stages on two cores.
    """

    directory: Path
    stages: tuple[str, ...]
    arguments: frozenset[str]
    minutes: Mapping[str, float]
    disk_bytes: int | None

    def seconds(self, done: Mapping[str, float]) -> float | None:
        """Estimated time of the remaining stages on two cores; None if one is unknown."""
        left = [name for name in self.stages if name not in done]
        known = [minutes for name in left if (minutes := self.minutes.get(name)) is not None]
        return sum(known) * 60 if len(known) == len(left) else None


@dataclass(frozen=True)
class SourcesBuild:
    """Inputs of building an image from a recipe.

    Attributes:
        note: file of finished stages and their times.
        base: a Debian suite for debootstrap, or an image's name (with ``:`` or ``/``); None: as in FROM.
        sources: address of the recipe's sources, or a directory that becomes part of the build's context.
        debian: address of Debian's archive; None: the usual one.
        cores: of a stage; None: all.
    """

    recipe: Recipe
    note: Path
    base: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    sources: str | None = None
    debian: str | None = None
    cores: int | None = None


def read_recipe(directory: Path) -> Recipe:
    """Read the recipe of a directory.

    Raises ConfigError if the Dockerfile is missing, a stage before the last has no name, a name is repeated,
    or ``recipe.yaml`` is wrong or names an unknown stage.
    """
    file = directory / DOCKERFILE
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        message = "there is no recipe of an image here: no Dockerfile"
        remedy = "name a directory with a Dockerfile, relative to the project's directory"
        raise ConfigError(message, file=file, key="image.recipe", remedy=remedy) from None
    found = [match for line in lines if (match := _FROM.match(line))]
    names = [match["name"] for match in found]
    if not found:
        raise ConfigError("a Dockerfile without FROM", file=file, remedy="begin it with FROM")
    if any(name is None for name in names[:-1]):
        raise ConfigError(
            "a stage without a name cannot be built by itself",
            file=file,
            value=next(match[0].strip() for match in found if match["name"] is None),
            remedy="FROM ... AS name, for every stage but the last one",
        )
    stages = tuple((name or "image").lower() for name in names)
    if len(set(stages)) != len(stages):
        raise ConfigError("two stages of one name", file=file, value=", ".join(stages), remedy="rename one")
    notes = RecipeNotes()
    if (place := directory / "recipe.yaml").is_file():
        notes = read(place, RecipeNotes)
        for name in notes.minutes:
            if name not in stages:
                key, remedy = f"minutes.{name}", f"one of {', '.join(stages)}"
                raise ConfigError("the Dockerfile has no such stage", file=place, key=key, remedy=remedy)
    return Recipe(
        directory,
        stages,
        frozenset(match["name"] for line in lines if (match := _ARG.match(line))),
        notes.minutes,
        size_bytes(notes.disk) if notes.disk else None,
    )


def directory_sha256(directory: Path) -> str:
    """SHA-256 over the names, modes and contents of a directory's files."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            mode = "x" if path.stat().st_mode & 0o100 else "-"
            line = f"{path.relative_to(directory).as_posix()}\0{mode}\0{sha256_file(path)}\n"
            digest.update(line.encode())
    return digest.hexdigest()


def read_done(note: Path) -> dict[str, float]:
    """Seconds of each stage that an earlier build of the same recipe finished."""
    try:
        return {name: float(seconds) for name, seconds in json.loads(note.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_done(note: Path, done: Mapping[str, float]) -> None:
    """Keep what ``read_done`` reads."""
    write_text(note, json.dumps(dict(done), indent=1) + "\n")


def cost(recipe: Recipe, done: Mapping[str, float]) -> str:
    """The remaining stages of an image, as text."""
    left = [name for name in recipe.stages if name not in done]
    seconds = recipe.seconds(done)
    time = "time not known" if seconds is None else f"about {format_duration(seconds)} on two cores"
    disk = f", {recipe.disk_bytes / (1 << 30):.0f} GB of disk" if recipe.disk_bytes else ""
    return f"{len(left)} of {len(recipe.stages)} stages to build ({', '.join(left)}): {time}{disk}"


class DockerfileRecord(ToolRecord):
    """Sources of a built image.

    Attributes:
        directory: of the Dockerfile, in gem5's sources at ``commit``; None without git.
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
    """gem5's sources for building an image; ``file`` has the repairs in its ``image.sources[number]``."""

    checkout: Path = Path()
    commit: str | None = None
    repairs: Sequence[Repair] = ()
    file: Path = Path()
    number: int = 0

    def problem(self, repair: int, key: str, message: str, *, value: str, remedy: str) -> ConfigError:
        """The error of a repair's key, with its line in the file."""
        location = ("image", "sources", self.number, "repairs", repair, key)
        file = yaml_source.load(self.file).where(location)
        return ConfigError(message, file=file, key=yaml_source.dotted(location), value=value, remedy=remedy)


def repaired_context(build: DockerfileBuild, directory: str, copy: Path) -> DockerfileRecord:
    """Copy a Dockerfile's ``directory`` of the checkout and repair the copy.

    Raises:
        EngineError: there is no Dockerfile.
        ConfigError: a repair's file is missing, or its text does not occur ``times`` times; with the line.
    """
    dockerfile = build.checkout / directory / DOCKERFILE
    if not dockerfile.is_file() or dockerfile.is_symlink():
        remedy = "correct image.sources in configs/gem5"
        raise EngineError("no Dockerfile here", file=dockerfile.parent, remedy=remedy)
    shutil.copytree(dockerfile.parent, copy, symlinks=True)
    for index, repair in enumerate(build.repairs):
        _make(repair, index, build, directory, copy)
    changed = dict.fromkeys((DOCKERFILE, *(repair.file for repair in build.repairs)))
    return DockerfileRecord(
        directory=directory,
        commit=build.commit,
        repairs=tuple(repair.name for repair in build.repairs),
        sha256={name: sha256_file(copy / name) for name in changed},
        text=(copy / DOCKERFILE).read_bytes().decode(errors="replace"),
    )


def _make(repair: Repair, index: int, build: DockerfileBuild, directory: str, copy: Path) -> None:
    """Apply a repair to the copy."""
    place = f"{directory}/{repair.file}" + (f" of gem5 {build.commit[:12]}" if build.commit else "")
    before = _text(copy / repair.file, copy)
    if before is None:
        message = f"the repair {repair.name} changes a text file that is not there: {place}"
        remedy = f"correct the file, or remove the repair {repair.name}"
        raise build.problem(index, "file", message, value=repair.file, remedy=remedy)
    after, count = repair.apply(before)
    if count != repair.times:
        key = next(key for key in ("replace", "pattern", "after") if getattr(repair, key) is not None)
        found = f"{place} has its text {_times(count)}, not {_times(repair.times)}"
        message = f"the repair {repair.name} does not match: {found}"
        remedy = "remove the repair if upstream has mended this, else correct its text after that file"
        if count:
            remedy = f"make its text longer, so that it matches one place, or say times: {count}"
        raise build.problem(index, key, message, value=repair.sought, remedy=remedy)
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
