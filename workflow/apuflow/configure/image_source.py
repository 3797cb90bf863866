"""Where a container image may come from: the entries of ``image.sources``, tried in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from apuflow.configure.base import DIGEST, IMAGE_NAME, Commit, ListOf, Model, Text, ValueProblem
from apuflow.configure.image_repair import Repairs

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
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueProblem(
                "a source of an image names one place",
                key=given[1] if given else None,
                value=", ".join(given) or "none",
                remedy=f"give one of {', '.join(_KINDS)}; write another place as a source of its own",
            )
        if self.digest is not None and self.kind not in ("registry", "local"):
            raise ValueProblem(
                f"what a {self.kind} builds has no digest that is known beforehand",
                key="digest",
                value=self.digest,
                remedy="remove digest, or give it to a registry or local source",
            )
        for key in ("commit", "repairs"):
            if self.kind != "dockerfile" and getattr(self, key):
                raise ValueProblem(
                    f"{key} has a meaning for a Dockerfile of gem5 alone, not for a {self.kind}",
                    key=key,
                    remedy=f"remove {key}, or give it to a dockerfile source",
                )
        return self

    @property
    def is_of_the_gem5_that_runs(self) -> bool:
        """Whether it is a Dockerfile of the sources that gem5 itself is built from."""
        return self.dockerfile is not None and self.commit is None

    @property
    def kind(self) -> ImageKind:
        """Which of the four it is."""
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
            raise ValueProblem(
                f"one digest with two names: {other.place} and {source.place}",
                key="digest",
                value=source.digest,
                remedy="a digest names one content: correct one of the two, or remove its source",
            )
    return sources


def _repository(name: str) -> str:
    """The last part of an image's name without its tag: mirrors differ before it."""
    return name.rpartition("/")[2].partition("@")[0].partition(":")[0]


ImageSources: TypeAlias = Annotated[ListOf[ImageSource], AfterValidator(_consistent)]
