"""A study: a paper, the sweeps that repeat it, its statements with criteria, and what cannot be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from apuflow.configure.base import (
    IDENTIFIER,
    ListOf,
    Model,
    Name,
    SingleValue,
    Text,
    ValueProblem,
    check_name,
    known_names,
    read,
)
from apuflow.configure.catalogue import catalogue
from apuflow.configure.combinations import PLACES
from apuflow.configure.loading import sweep_names
from apuflow.configure.yaml_source import dotted, load
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.figures import FIGURE_NAMES
from apuflow.studies import criterion

TIERS: Final = ("preview", "gem5")
TierName = Literal["preview", "gem5"]
Reduction = Literal["geomean", "mean", "median", "min", "max"]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]


class Value(Model):
    """A number of the tables of a sweep."""

    column: Text = Field(description="column of the table: a counter or metric (`apuflow list metrics`)")
    workload: Text = Field(description="workload, or a pattern of several")
    where: dict[str, SingleValue] = Field(
        default_factory=dict, description="values of axes that the rows have: {num-compute-units: 4}"
    )
    over: dict[str, SingleValue] = Field(
        default_factory=dict,
        description="divide each row by the row that is alike but for these values of axes",
    )
    reduce: Reduction | None = Field(None, description="what becomes one number of several rows")


class Statement(Model):
    """What the paper says, and when it holds."""

    says: Text = Field(description="the paper's statement")
    source: Text = Field(description="where in the paper: section, figure, table")
    values: dict[Identifier, Value] = Field(min_length=1, description="numbers of the criterion, by name")
    holds: Text = Field(description="criterion over these names: backward < forward")
    tolerance: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="half width of the interval of a preview's number that has none, as a part of it",
    )
    expected: dict[Identifier, float] = Field(
        default_factory=dict, description="what the paper has for a value, shown beside it"
    )
    cannot: dict[TierName, Text] = Field(
        default_factory=dict, description="why a tier cannot repeat it: {preview: ...}"
    )

    @model_validator(mode="after")
    def _judged(self) -> Self:
        try:
            criterion.check(self.holds, self.values, "holds")
        except ConfigError as error:
            raise ValueProblem(
                error.message, key=error.key, value=error.value, remedy=str(error.remedy)
            ) from None
        for name in set(self.expected) - set(self.values):
            remedy = f"values: {', '.join(self.values)}"
            raise ValueProblem("no value has this name", key="expected", value=name, remedy=remedy)
        return self


class Tier(Model):
    """How an engine repeats the study."""

    sweep: Name | None = Field(None, description="a file of configs/sweeps")
    cannot: Text | None = Field(None, description="why this engine cannot repeat it")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.sweep is None) == (self.cannot is None):
            remedy = "sweep: NAME, or cannot: why"
            raise ValueProblem("a sweep or a reason, one of the two", key="sweep", remedy=remedy)
        return self


class NotRepeated(Model):
    """A part of the paper that no tier repeats."""

    what: Text = Field(description="figure, table or statement")
    because: Text = Field(description="why")


class Study(Model):
    """One ``configs/studies/<name>/study.yaml``."""

    name: Name = Field(description="the directory's name; not written in the file")
    title: Text
    source: Text = Field(description="the paper: authors, title, where, year")
    differs: Text = Field(description="what the paper's hardware and programs have that is different here")
    tiers: dict[TierName, Tier] = Field(min_length=1, description="preview and gem5")
    figures: dict[str, Text] = Field(
        default_factory=dict, description="figures of the sweep, and what of the paper each redraws"
    )
    statements: dict[Name, Statement] = Field(min_length=1)
    cannot: ListOf[NotRepeated] = Field((), description="parts of the paper that are not repeated")

    @model_validator(mode="after")
    def _figures(self) -> Self:
        for name in set(self.figures) - set(FIGURE_NAMES):
            remedy = known_names(name, list(FIGURE_NAMES))
            raise ValueProblem("there is no such figure", key="figures", value=name, remedy=remedy)
        return self


def study_names(root: Path = Path()) -> list[str]:
    """Studies of the project."""
    return sorted(file.parent.name for file in root.glob(paths.study_file("*")))


def load_study(name: str, root: Path = Path()) -> Study:
    """The study of that name.

    Raises:
        ConfigError: there is none, with the known ones; or a mistake in it, with file, key and fix.
    """
    check_name(name, "study", study_names(root))
    document = load(root / paths.study_file(name))
    study = read(document, Study, name=name)
    known = sweep_names(root)
    for tier, how in study.tiers.items():
        if how.sweep is not None and how.sweep not in known:
            key: tuple[str, ...] = ("tiers", tier, "sweep")
            raise ConfigError(
                "unknown sweep",
                file=document.where(key),
                key=dotted(key),
                value=how.sweep,
                remedy=known_names(how.sweep, known),
            )
    for key, axis in _axes(study):
        if axis not in catalogue() and axis not in PLACES and not axis.startswith("layer."):
            remedy = known_names(axis, [*catalogue(), *PLACES])
            raise ConfigError(
                "not an axis", file=document.where(key), key=dotted(key), value=axis, remedy=remedy
            )
    return study


def _axes(study: Study) -> Iterator[tuple[tuple[str, ...], str]]:
    """The axes that the statements name, each with its place in the file."""
    for name, statement in study.statements.items():
        for label, value in statement.values.items():
            for part, given in (("where", value.where), ("over", value.over)):
                for axis in given:
                    yield ("statements", name, "values", label, part, axis), axis
