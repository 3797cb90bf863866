"""Repairs of a Dockerfile: what broke in it since upstream wrote it (``repairs`` of an image's source)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from apuflow.configure.base import ListOf, Model, Name, Text, ValueProblem

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
        given = [key for key in _PARTNERS if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueProblem(
                "a repair makes one change",
                key=given[1] if given else None,
                value=", ".join(given) or "none",
                remedy="give one of replace (and with), pattern (and with), after (and insert); "
                "make another change a repair of its own",
            )
        values = {"with": self.with_, "insert": self.insert}
        needed = _PARTNERS[given[0]]
        other = "insert" if needed == "with" else "with"
        if values[needed] is None:
            raise ValueProblem(
                f"{given[0]} says what to look for, not what to write",
                key=given[0],
                remedy=f"add {needed}: with the new text",
            )
        if values[other] is not None:
            raise ValueProblem(
                f"{other} has no meaning beside {given[0]}",
                key=other,
                value=values[other],
                remedy=f"remove it: {needed} is the new text",
            )
        if self.replace is not None and self.replace == self.with_:
            raise ValueProblem(
                "the new text is the old one", key="with", value=self.with_, remedy="correct one of the two"
            )
        return self

    @model_validator(mode="after")
    def _usable_pattern(self) -> Self:
        if self.pattern is None:
            return self
        try:
            matches_nothing = re.compile(self.pattern, re.M).search("") is not None
        except re.error as error:
            raise ValueProblem(
                f"not a regular expression: {error}",
                key="pattern",
                value=self.pattern,
                remedy="correct it, or give exact text as replace",
            ) from None
        if matches_nothing:
            raise ValueProblem(
                "the pattern matches where no text is",
                key="pattern",
                value=self.pattern,
                remedy="make it match at least one character",
            )
        try:
            re.sub(self.pattern, self.with_ or "", "", flags=re.M)
        except (re.error, IndexError) as error:
            raise ValueProblem(
                f"not a replacement for this pattern: {error}",
                key="with",
                value=self.with_,
                remedy="name groups of the pattern alone, and write \\\\ for a backslash",
            ) from None
        return self

    @model_validator(mode="after")
    def _file_beside_the_dockerfile(self) -> Self:
        path = PurePosixPath(self.file)
        if path.is_absolute() or ".." in path.parts:
            raise ValueProblem(
                "a repair changes files in the Dockerfile's directory alone",
                key="file",
                value=self.file,
                remedy="give a path relative to that directory",
            )
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
    """Refuse two repairs of one name."""
    names = [repair.name for repair in repairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueProblem("two repairs of one name", value=name, remedy="rename one of them")
    return repairs


Repairs: TypeAlias = Annotated[ListOf[Repair], AfterValidator(_different_names)]
"""The list ``repairs``: made in this order, each on what the ones before it left."""
