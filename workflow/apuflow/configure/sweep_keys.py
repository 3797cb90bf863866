"""Keys of a sweep: axes, groups that advance together, conditions, figures, sampling, fewer workgroups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from apuflow.configure.base import (
    ListOf,
    Model,
    SingleValue,
    Text,
    ValueProblem,
    did_you_mean,
    distinct,
    one_of,
    validate,
)
from apuflow.configure.yaml_source import Document
from apuflow.core.errors import ConfigError
from apuflow.core.figures import FIGURE_NAMES
from apuflow.core.scalar import Scalar

_NUMBERS = "numbers"
BESIDE = {
    "zip": "zip: [{num-compute-units: [4, 8], tcc-size: [256kB, 1MB]}]",
    "layers": "layers: [{n: 1, c: 64}, {n: 4, c: 16}]",
}
"""Keys that stand beside ``axes``, with an example of each."""


def _values(value: object) -> object:
    """An axis: a list of different values."""
    values = listed(value)
    seen: set[tuple[type, str]] = set()
    for item in values:
        known = (type(item), repr(item))
        if known in seen:
            raise ValueProblem("the value stands twice in the axis", value=item, remedy="keep one of them")
        seen.add(known)
    return values


def listed(value: object) -> tuple[object, ...]:
    """A list of values of one kind, which may repeat."""
    if not isinstance(value, list):
        shown = value if isinstance(value, (str, int, float, bool)) or value is None else str(value)[:80]
        remedy = "write [4, 8, 16]; a single fixed value belongs under options (or layer)"
        if isinstance(value, str) and len(parts := separated(value)) > 1:
            remedy = f"write [{', '.join(parts)}]"
        raise ValueProblem("an axis is a list of values", value=shown, remedy=remedy)
    if not value:
        remedy = "give it at least one value, or remove it"
        raise ValueProblem("an axis of length 0 leaves no points", value=value, remedy=remedy)
    for item in value:
        if isinstance(item, str) and len(parts := separated(item)) > 1:
            missing = "a comma is missing between the values of the list"
            raise ValueProblem(missing, value=item, remedy=f"write [{', '.join(parts)}]")
    kinds = {kind for item in value if (kind := _kind(item)) is not None}
    if len(kinds) > 1:
        mixed = f"the list mixes {' and '.join(sorted(kinds))}"
        remedy = "write all values alike; a size and a clock have a unit: 256kB, 2GHz"
        raise ValueProblem(mixed, value=", ".join(map(str, value))[:80], remedy=remedy)
    spelt: dict[object, object] = {}
    for item in (item for item in value if _kind(item) == _NUMBERS):
        first = spelt.setdefault(item, item)
        if type(first) is not type(item):
            twice = f"the list has one number in two spellings, {first} and {item}"
            raise ValueProblem(twice, value=item, remedy=f"write {float(item):g} alone")
    return tuple(value)


def separated(text: str) -> list[str]:
    """The values of a text in which something else than a comma separates them; one: it is a single value.

    A number and its unit (``256 kB``) are one value; no value of an option or a layer has a blank in it.
    """
    joined = re.sub(r"(?<![^\s;|,])([0-9.]+)\s+([A-Za-z]+)(?![^\s;|,])", r"\1\2", text)
    return re.split(r"[\s;|,]+", joined.strip("; |,\t\n"))


def _kind(value: object) -> str | None:
    """What a value is, as far as two kinds cannot stand in one column of a table."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return _NUMBERS
    return "text" if isinstance(value, str) else None


def _flat(value: object) -> object:
    """``{a: [..], layer: {n: [..]}}`` with the layer's axes as ``layer.n``."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, object] = {}
    for key, entry in value.items():
        if key.startswith("layer."):
            remedy = f"axes: {{layer: {{{key[6:]}: [...]}}}}"
            raise ValueProblem("keys of layers stand below the key layer", key=key, remedy=remedy)
        if key != "layer":
            flat[key] = entry
        elif isinstance(entry, dict) and entry:
            flat |= {f"layer.{name}": values for name, values in entry.items()}
        else:
            wrong, remedy = "layer is a mapping of layer keys to lists", "layer: {n: [1, 10, 100]}"
            raise ValueProblem(wrong, key="layer", value=str(entry)[:80], remedy=remedy)
    return flat


def _no_places(axes: object) -> object:
    """Refuse ``zip`` and ``layers`` below ``axes``."""
    for name, example in BESIDE.items():
        if isinstance(axes, dict) and name in axes:
            raise ValueProblem(f"{name} is no axis", remedy=f"write it beside axes, not below: {example}")
    return axes


def _no_single_group(groups: object) -> object:
    if isinstance(groups, dict):
        raise ValueProblem("zip is a list of groups", remedy=f"write {BESIDE['zip']}")
    return groups


Axis: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(_values)]
Listed: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(listed)]
Alternatives: TypeAlias = Annotated[
    tuple[SingleValue, ...],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else (value,)),
]
AxisMap: TypeAlias = Annotated[dict[str, Axis], BeforeValidator(_flat), BeforeValidator(_no_places)]
"""Values by option name, or by ``layer.<key>`` (written nested: ``layer: {n: [..]}``)."""
ZipMap: TypeAlias = Annotated[dict[str, Listed], BeforeValidator(_flat)]
ZipGroups: TypeAlias = Annotated[ListOf[ZipMap], BeforeValidator(_no_single_group)]
Condition: TypeAlias = Annotated[dict[str, Alternatives], BeforeValidator(_flat)]


def _flat_values(value: object) -> object:
    """``{a: 1, layer: {n: 2}}`` with the layer's keys as ``layer.n``."""
    if not isinstance(value, dict) or not isinstance(value.get("layer"), dict):
        return value
    flat = {key: entry for key, entry in value.items() if key != "layer"}
    return flat | {f"layer.{name}": entry for name, entry in value["layer"].items()}


Names: TypeAlias = Annotated[ListOf[Text], AfterValidator(distinct)]


class FigureChoice(Model):
    """Axis across, lines, baseline, and the choice of a report's figures."""

    x: Text | None = Field(
        None,
        description="the axis across; without it the machine's size with the greatest effect on the GPU time",
    )
    lines: Names | None = Field(
        None, description="axes that make lines, the most important first; all others are held"
    )
    baseline: Annotated[dict[str, SingleValue], BeforeValidator(_flat_values)] = Field(
        default_factory=dict,
        description="axes at one value each, which speedups are relative to and at which axes are held",
    )
    objectives: Names = Field(
        (),
        description="expressions over columns, the smaller the better: [gpu_cycles, 'tcc_size / 1e6', -ipc]; "
        "the report then has the best points and, of two or more, their Pareto figure",
    )
    show: Annotated[Names, one_of(FIGURE_NAMES, "there is no such figure")] = Field(
        (),
        description="figures of the report; without it all that the axes and engines allow",
        json_schema_extra={"items": {"enum": list(FIGURE_NAMES)}},
    )

    def check(self, axes: Mapping[str, Sequence[Scalar]]) -> None:
        """Refuse (ValueProblem) names and values that are none of the axes of all workloads together."""
        places = {f"figures.baseline.{name}": name for name in self.baseline}
        places |= {"figures.x": self.x} if self.x is not None else {}
        places |= {f"figures.lines.{index}": name for index, name in enumerate(self.lines or (), 1)}
        for key, name in places.items():
            if name not in axes:
                remedy = f"{did_you_mean(name, axes)}its axes: {', '.join(axes) or 'none'}"
                raise ValueProblem("this is no axis of the sweep", key=key, value=name, remedy=remedy)
        if self.x is not None and self.x in (self.lines or ()):
            both, remedy = "the axis across cannot make lines, too", "keep it in one of x and lines"
            raise ValueProblem(both, key="figures.lines", value=self.x, remedy=remedy)
        for name, value in self.baseline.items():
            if value not in axes[name]:
                key, remedy = f"figures.baseline.{name}", f"one of {', '.join(map(str, axes[name]))}"
                raise ValueProblem("the axis does not have this value", key=key, value=value, remedy=remedy)


class Sampling(Model):
    """Simulate some operations of each suite and estimate the others; `{}`: with these defaults."""

    bound: float = Field(
        0.1, gt=0, le=1, description="half width of the total's interval over the total: 0.03 is 3 %"
    )
    confidence: float = Field(0.95, gt=0, lt=1, description="probability that the interval holds the total")
    budget: float = Field(
        0.6, gt=0, le=1, description="largest share of the cycles of all distinct operations to simulate"
    )
    audit: int = Field(
        1000,
        ge=0,
        description="operations at most that are picked at random, in proportion to their predicted cycles",
    )
    seed: int = Field(0, ge=0, description="another number picks other operations for the audit")

    def with_options(self, **options: float | None) -> Sampling:
        """These values, but for given ones of the command line; ConfigError with the option as key."""
        given = {name: value for name, value in options.items() if value is not None}
        try:
            return validate(Document(Path(), {**self.model_dump(), **given}, {}), Sampling)
        except ConfigError as error:
            error.file, error.key = None, f"--{error.key}"
            raise


WORKGROUPS: Final = "workgroups"
"""Key of a sweep, and of the content of a point's identity."""


class FewerWorkgroups(Model):
    """Launch the first workgroups of large grids, and extrapolate the whole; `{}`: with these defaults."""

    fills: int = Field(
        8,
        ge=4,
        le=100,
        description="launch as many workgroups as fill the machine this many times",
    )


def workgroups_label(workgroups: FewerWorkgroups | None) -> str:
    """What sets a point with fewer workgroups apart, as part of its label."""
    return "" if workgroups is None else f"fills{workgroups.fills}"
