"""Recipes of container images: a directory with a Dockerfile of several stages, and their cost."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, NonNegativeFloat

from apuflow.configure.base import Model, Size, Text, read
from apuflow.configure.image_repair import DOCKERFILE
from apuflow.core.errors import ConfigError
from apuflow.core.files import sha256_file, write_text
from apuflow.core.units import format_duration, size_bytes

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
        raise ConfigError(
            "there is no recipe of an image here: no Dockerfile",
            file=file,
            key="image.recipe",
            remedy="name a directory with a Dockerfile, relative to the project's directory",
        ) from None
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
