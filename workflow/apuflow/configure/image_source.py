"""Where a container image may come from (``image.sources``), and repairs of the Dockerfiles among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from apuflow.configure.base import (
    DIGEST,
    IMAGE_NAME,
    Commit,
    ListOf,
    Model,
    Name,
    Text,
    ValueProblem,
    distinct,
)

DOCKERFILE = "Dockerfile"
"""Name of the file that an image is built from."""
Exact: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
"""Text with its white space."""
_PARTNERS = {"replace": "with", "pattern": "with", "after": "insert"}
"""Which key says what comes in, by the key that says where."""


class Repair(Model):
    """One change of a Dockerfile, or of another file beside it: a replacement or an insertion."""

    model_config = ConfigDict(populate_by_name=False)

    name: Name = Field(description="for messages and records")
    why: Text = Field(description="what breaks without it, and where upstream speaks of it")
    file: Text = Field(DOCKERFILE, description="file to change, relative to the Dockerfile's directory")
    replace: Exact | None = Field(None, description="exact text that `with` replaces")
    pattern: Exact | None = Field(
        None, description="instead of replace: regular expression of Python; ^ and $ match at each line"
    )
    with_: str | None = Field(
        None, alias="with", description="new text; after pattern it may name groups (`\\1`)"
    )
    after: Exact | None = Field(None, description="instead of replace: exact text that `insert` follows")
    insert: Exact | None = Field(None, description="text that comes after `after`")
    times: int = Field(1, ge=1, description="how often the text is there; any other number is an error")

    @model_validator(mode="after")
    def _one_change(self) -> Self:
        key = _only_one(
            self,
            _PARTNERS,
            "a repair makes one change",
            "give one of replace (and with), pattern (and with), after (and insert); "
            "make another change a repair of its own",
        )
        values = {"with": self.with_, "insert": self.insert}
        needed = _PARTNERS[key]
        other = "insert" if needed == "with" else "with"
        if values[needed] is None:
            message = f"{key} says what to look for, not what to write"
            raise ValueProblem(message, key=key, remedy=f"add {needed}: with the new text")
        if values[other] is not None:
            message, remedy = f"{other} has no meaning beside {key}", f"remove it: {needed} is the new text"
            raise ValueProblem(message, key=other, value=values[other], remedy=remedy)
        if self.replace is not None and self.replace == self.with_:
            message, remedy = "the new text is the old one", "correct one of the two"
            raise ValueProblem(message, key="with", value=self.with_, remedy=remedy)
        return self

    @model_validator(mode="after")
    def _usable_pattern(self) -> Self:
        if self.pattern is None:
            return self
        try:
            matches_nothing = re.compile(self.pattern, re.M).search("") is not None
        except re.error as error:
            message = f"not a regular expression: {error}"
            remedy = "correct it, or give exact text as replace"
            raise ValueProblem(message, key="pattern", value=self.pattern, remedy=remedy) from None
        if matches_nothing:
            message, remedy = "the pattern matches where no text is", "make it match at least one character"
            raise ValueProblem(message, key="pattern", value=self.pattern, remedy=remedy)
        try:
            re.sub(self.pattern, self.with_ or "", "", flags=re.M)
        except (re.error, IndexError) as error:
            message = f"not a replacement for this pattern: {error}"
            remedy = "name groups of the pattern alone, and write \\\\ for a backslash"
            raise ValueProblem(message, key="with", value=self.with_, remedy=remedy) from None
        return self

    @model_validator(mode="after")
    def _file_beside_the_dockerfile(self) -> Self:
        path = PurePosixPath(self.file)
        if path.is_absolute() or ".." in path.parts:
            message = "a repair changes files in the Dockerfile's directory alone"
            remedy = "give a path relative to that directory"
            raise ValueProblem(message, key="file", value=self.file, remedy=remedy)
        return self

    def apply(self, text: str) -> tuple[str, int]:
        """The text with this change, and how often it was made."""
        if self.pattern is not None:
            return re.subn(self.pattern, self.with_ or "", text, flags=re.M)
        if self.after is not None:
            return text.replace(self.after, f"{self.after}{self.insert}"), text.count(self.after)
        return text.replace(self.replace or "", self.with_ or ""), text.count(self.replace or "")

    @property
    def sought(self) -> str:
        """The text or pattern that it looks for."""
        return self.replace or self.pattern or self.after or ""


def _different_names(repairs: Sequence[Repair]) -> Sequence[Repair]:
    distinct([repair.name for repair in repairs], "two repairs of one name", "rename one of them")
    return repairs


Repairs: TypeAlias = Annotated[ListOf[Repair], AfterValidator(_different_names)]
"""The list ``repairs``: made in this order, each on what the ones before it left."""


def _only_one(model: Model, keys: Iterable[str], message: str, remedy: str) -> str:
    """The one of these keys that a model has."""
    given = [key for key in keys if getattr(model, key) is not None]
    if len(given) == 1:
        return given[0]
    key, value = given[1] if given else None, ", ".join(given) or "none"
    raise ValueProblem(message, key=key, value=value, remedy=remedy)


ImageKind = Literal["registry", "local", "dockerfile", "recipe"]
_KINDS: tuple[ImageKind, ...] = ("registry", "local", "dockerfile", "recipe")
ImageName: TypeAlias = Annotated[str, StringConstraints(pattern=IMAGE_NAME)]
Digest: TypeAlias = Annotated[str, StringConstraints(pattern=DIGEST)]


class ImageSource(Model):
    """One place that an image may come from: exactly one of registry, local, dockerfile and recipe."""

    registry: ImageName | None = Field(
        None, description="name with registry and tag, such as ghcr.io/gem5/gcn-gpu:v22-1"
    )
    digest: Digest | None = Field(None, description="with registry or local: take this content only")
    local: Text | None = Field(
        None, description="name or id of an image that the container engine has; of Apptainer a file"
    )
    dockerfile: Text | None = Field(None, description="directory of a Dockerfile in gem5's sources")
    commit: Commit | None = Field(
        None,
        description="with dockerfile: commit of `gem5.url` to take it from; left out: the gem5 that runs",
    )
    repairs: Repairs = Field(
        (), description="with dockerfile: changes to a copy of it before it is built, in this order"
    )
    recipe: Text | None = Field(None, description="directory of a Dockerfile in this project")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        remedy = f"give one of {', '.join(_KINDS)}; write another place as a source of its own"
        _only_one(self, _KINDS, "a source of an image names one place", remedy)
        if self.digest is not None and self.kind not in ("registry", "local"):
            message = f"what a {self.kind} builds has no digest that is known beforehand"
            remedy = "remove digest, or give it to a registry or local source"
            raise ValueProblem(message, key="digest", value=self.digest, remedy=remedy)
        for key in ("commit", "repairs"):
            if self.kind != "dockerfile" and getattr(self, key):
                message = f"{key} has a meaning for a Dockerfile of gem5 alone, not for a {self.kind}"
                remedy = f"remove {key}, or give it to a dockerfile source"
                raise ValueProblem(message, key=key, remedy=remedy)
        return self

    @property
    def is_of_the_gem5_that_runs(self) -> bool:
        """Whether it is a Dockerfile of the sources that gem5 itself is built from."""
        return self.dockerfile is not None and self.commit is None

    @property
    def kind(self) -> ImageKind:
        """The key that names the place."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def place(self) -> str:
        """Name or directory."""
        return str(getattr(self, self.kind))

    def __str__(self) -> str:
        commit = f" of gem5 {self.commit[:12]}" if self.commit else ""
        return f"{self.kind} {self.place}{commit}" + (f" ({self.digest[:19]})" if self.digest else "")


def _consistent(sources: Sequence[ImageSource]) -> Sequence[ImageSource]:
    """Refuse a list whose entries contradict each other."""
    if not sources:
        raise ValueProblem("no source of an image", value="[]", remedy="name one, or leave sources out")
    names: dict[str, ImageSource] = {}
    places: set[str] = set()
    for source in sources:
        if str(source) in places:
            raise ValueProblem("this source stands twice", value=str(source), remedy="remove one of the two")
        places.add(str(source))
        if source.digest is None:
            continue
        other = names.setdefault(source.digest, source)
        if _repository(other.place) != _repository(source.place):
            message = f"one digest with two names: {other.place} and {source.place}"
            remedy = "a digest names one content: correct one of the two, or remove its source"
            raise ValueProblem(message, key="digest", value=source.digest, remedy=remedy)
    return sources


def _repository(name: str) -> str:
    """The last part of an image's name without its tag: mirrors differ before it."""
    return name.rpartition("/")[2].partition("@")[0].partition(":")[0]


ImageSources: TypeAlias = Annotated[ListOf[ImageSource], AfterValidator(_consistent)]
