"""A sweep: which workloads, on which machines, by which engines (``configs/sweeps/<name>.yaml``)."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from apuflow.configure.base import ListOf, Model, Name, Text, ValueProblem
from apuflow.configure.machine import SingleValue
from apuflow.core.engines import ENGINES, EngineName
from apuflow.core.units import DURATION, duration_seconds

DEFAULT_RELEASE = "v22.1"
DEFAULT_MACHINE = "apu-gfx801"


def _values(value: object) -> object:
    if not isinstance(value, list):
        raise ValueProblem(
            "an axis is a list of values",
            value=value if isinstance(value, (str, int, float, bool)) or value is None else str(value)[:80],
            remedy="write [4, 8, 16]; a single fixed value belongs under options (or layer)",
        )
    if not value:
        raise ValueProblem(
            "an axis of length 0 leaves no points",
            value=value,
            remedy="give it at least one value, or remove it",
        )
    seen: list[object] = []
    for item in value:
        if any(item == other and type(item) is type(other) for other in seen):
            raise ValueProblem("the value stands twice in the axis", value=item, remedy="keep one of them")
        seen.append(item)
    return tuple(value)


def _alternatives(value: object) -> object:
    return tuple(value) if isinstance(value, list) else (value,)


Axis: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(_values)]
Alternatives: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(_alternatives)]


def _flat_axes(value: object) -> object:
    """``{a: [..], layer: {n: [..]}}`` with the layer's axes as ``layer.n``."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, object] = {}
    for key, entry in value.items():
        if key != "layer":
            if key.startswith("layer."):
                raise ValueProblem(
                    "keys of layers stand below the key layer", key=key, remedy=f"layer: {{{key[6:]}: [...]}}"
                )
            flat[key] = entry
            continue
        if not isinstance(entry, dict) or not entry:
            raise ValueProblem(
                "layer is a mapping of layer keys to lists",
                key="layer",
                value=str(entry)[:80],
                remedy="layer: {n: [1, 10, 100]}",
            )
        flat.update({f"layer.{name}": values for name, values in entry.items()})
    return flat


AxisMap: TypeAlias = Annotated[dict[str, Axis], BeforeValidator(_flat_axes)]
"""Values by option name, or by ``layer.<key>`` (written nested: ``layer: {n: [..]}``)."""
Condition: TypeAlias = Annotated[dict[str, Alternatives], BeforeValidator(_flat_axes)]


class Limits(Model):
    """Bounds of a sweep."""

    max_points: int = Field(100_000, ge=1, description="refuse to expand to more points than this")
    wall_time: Annotated[str, StringConstraints(pattern=DURATION)] = Field(
        "7d", description="end a run that takes longer: 90s, 30m, 12h, 7d"
    )

    @property
    def wall_seconds(self) -> float:
        """``wall_time`` in seconds."""
        return duration_seconds(self.wall_time)


class Variation(Model):
    """What a sweep fixes and varies; for all its workloads, or under ``per_workload`` for some."""

    options: dict[str, SingleValue] = Field(
        default_factory=dict, description="apu_se.py options at a fixed value"
    )
    layer: dict[str, SingleValue] = Field(default_factory=dict, description="layer keys at a fixed value")
    axes: AxisMap = Field(default_factory=dict, description="lists of values; every combination is a point")
    zip: ListOf[AxisMap] = Field((), description="groups of equally long lists that advance together")
    exclude: ListOf[Condition] = Field(
        (), description="combinations to leave out: all conditions of an entry hold"
    )

    @field_validator("zip")
    @classmethod
    def _equal(cls, groups: tuple[AxisMap, ...]) -> tuple[AxisMap, ...]:
        for group in groups:
            lengths = {name: len(values) for name, values in group.items()}
            if len(set(lengths.values())) > 1:
                raise ValueProblem(
                    "lists that advance together must be equally long",
                    value=", ".join(f"{name}: {length}" for name, length in lengths.items()),
                    remedy="make them equally long, or put them under axes",
                )
        return groups

    @model_validator(mode="after")
    def _once(self) -> Self:
        layer = {f"layer.{name}" for name in self.layer}
        places = [set(self.options) | layer, set(self.axes), *(set(group) for group in self.zip)]
        for index, names in enumerate(places):
            for other in places[index + 1 :]:
                twice = sorted(names & other)
                if twice:
                    raise ValueProblem(
                        "set in two places of this sweep",
                        key=twice[0],
                        remedy="keep it in options, axes or one zip group",
                    )
        return self


class Sweep(Variation):
    """One ``configs/sweeps/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    engines: ListOf[EngineName] = Field(min_length=1, description="gem5, gem5-kernels, preview")
    release: Name = Field(DEFAULT_RELEASE, description="a file of configs/gem5")
    machine: Name = Field(DEFAULT_MACHINE, description="a file of configs/machines")
    workloads: ListOf[Text] = Field(
        ("all",),
        min_length=1,
        description="names or patterns of configs/workloads, - before one leaves it out; all: every one that "
        "the engines can run",
    )
    limits: Limits = Limits()
    on_failure: Literal["strict", "record"] = Field(
        "strict", description="strict: a failed point stops the table; record: its row says how it failed"
    )
    per_workload: dict[str, Variation] = Field(
        default_factory=dict, description="additions for the workloads that a name or pattern matches"
    )

    @field_validator("engines", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list):
            for item in items:
                if item not in tuple(ENGINES):
                    raise ValueProblem("unknown engine", value=item, remedy=f"one of {', '.join(ENGINES)}")
                if items.count(item) > 1:
                    raise ValueProblem("the engine stands twice", value=item, remedy="keep one of them")
        return items

    @field_validator("workloads", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value
