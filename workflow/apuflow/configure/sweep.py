"""A sweep: which workloads, on which machines, by which engines (``configs/sweeps``); a machine."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, StringConstraints, field_validator, model_validator

from apuflow.configure.base import ListOf, Model, Name, SingleValue, Text, ValueProblem, distinct
from apuflow.configure.sweep_keys import (
    AxisMap,
    Condition,
    FewerWorkgroups,
    FigureChoice,
    Sampling,
    ZipGroups,
    ZipMap,
    listed,
)
from apuflow.core.engines import ENGINES, PREVIEW_RELEASE, EngineName, engine_facts, is_batch
from apuflow.core.inputs import DEFAULT, Inputs
from apuflow.core.scalar import Scalar
from apuflow.core.units import DURATION, duration_seconds
from apuflow.rocblas.tables import Products

DEFAULT_RELEASE = "v23.0"
DEFAULT_MACHINE = "apu-gfx801"
MAX_WALL_SECONDS = 365 * 86400


class Machine(Model):
    """One ``configs/machines/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    options: dict[str, SingleValue] = Field(
        default_factory=dict, description="apu_se.py options, without dashes; the rest keep their defaults"
    )


class Limits(Model):
    """Bounds of a sweep."""

    max_points: int = Field(100_000, ge=1, description="refuse to expand to more points than this")
    wall_time: Annotated[str, StringConstraints(pattern=DURATION)] = Field(
        "7d", description="end a run that takes longer: 90s, 30m, 12h, 7d"
    )

    @field_validator("wall_time")
    @classmethod
    def _bounded(cls, value: str) -> str:
        if 0 < duration_seconds(value) <= MAX_WALL_SECONDS:
            return value
        message = "a run takes some time, and no longer than a year"
        raise ValueProblem(message, value=value, remedy="1s to 365d")

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
    layers: ListOf[dict[str, SingleValue]] = Field(
        (), description="list of layers, [{n: 1, c: 64}, {n: 8, c: 3}], or a CSV file beside the sweep"
    )
    zip: ZipGroups = Field((), description="groups of equally long lists that advance together")
    exclude: ListOf[Condition] = Field(
        (), description="combinations to leave out: all conditions of an entry hold"
    )

    @field_validator("layers")
    @classmethod
    def _alike(cls, lines: tuple[dict[str, Scalar], ...]) -> tuple[dict[str, Scalar], ...]:
        """Every line names the same keys, and no line is another one's copy."""
        if not lines:
            message, remedy = "a list without a layer leaves no points", "add one, or leave layers out"
            raise ValueProblem(message, value=[], remedy=remedy)
        for number, line in enumerate(lines, 1):
            missing = sorted(set(lines[0]) ^ set(line))
            if missing or not line:
                message = f"layer {number} does not have the keys of layer 1"
                remedy = "name the same keys in every layer, those of one layer kind"
                raise ValueProblem(message, value=", ".join(missing) or "none", remedy=remedy)
        if again := _repeated([line[name] for name in lines[0]] for line in lines):
            number, first = again
            message, value = f"layer {number} is layer {first} again", _listing(lines[number - 1].items())
            raise ValueProblem(message, value=value, remedy="keep one of them")
        for name in lines[0]:
            listed([line[name] for line in lines])
        return lines

    @field_validator("zip")
    @classmethod
    def _equal(cls, groups: tuple[ZipMap, ...]) -> tuple[ZipMap, ...]:
        for group in groups:
            if not group:
                raise ValueProblem("a group without lists", remedy="name its lists, or remove the group")
            lengths = {name: len(values) for name, values in group.items()}
            if len(set(lengths.values())) > 1:
                message = "lists that advance together must be equally long"
                remedy = "make them equally long, or put them under axes"
                raise ValueProblem(message, value=_listing(lengths.items()), remedy=remedy)
            if again := _repeated(zip(*group.values(), strict=True)):
                number, first = again
                message = f"row {number} of the lists is row {first} again"
                value = _listing((name, values[number - 1]) for name, values in group.items())
                remedy = "keep one of them: the same values in another row may repeat"
                raise ValueProblem(message, value=value, remedy=remedy)
        return groups

    @model_validator(mode="after")
    def _once(self) -> Self:
        in_lines = {f"layer.{name}" for line in self.layers[:1] for name in line}
        places: list[tuple[str, str, Collection[str]]] = [
            ("options", "options.", self.options),
            ("layer", "", {f"layer.{name}" for name in self.layer}),
            ("axes", "axes.", self.axes),
            ("layers", "", in_lines),
            *((f"zip[{number}]", "", group) for number, group in enumerate(self.zip)),
        ]
        for (first, above, names), (second, _, others) in itertools.combinations(places, 2):
            for name in names:
                if name in others:
                    message = f"set in two places of this sweep, {first} and {second}"
                    raise ValueProblem(message, key=above + name, remedy="keep it in one of them")
        return self


def _repeated(rows: Iterable[Iterable[Scalar]]) -> tuple[int, int] | None:
    """Numbers, from 1, of the first row that came before, and of the row that it repeats."""
    seen: dict[object, int] = {}
    for number, row in enumerate(rows, 1):
        first = seen.setdefault(tuple((type(value), value) for value in row), number)
        if first != number:
            return number, first
    return None


def _listing(pairs: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in pairs)


class Sweep(Variation):
    """One ``configs/sweeps/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    engines: ListOf[EngineName] = Field(min_length=1, description="gem5, gem5-kernels, preview")
    release: Name = Field(
        DEFAULT_RELEASE,
        description=f"a file of configs/gem5; left out with `engines: [preview]`: {PREVIEW_RELEASE}, "
        "on which the preview was measured",
    )
    machine: Name = Field(DEFAULT_MACHINE, description="a file of configs/machines")
    workloads: ListOf[Text] = Field(
        ("all",),
        description="names or patterns of configs/workloads, - before one leaves it out; all: what every "
        "engine can run",
    )
    suites: ListOf[Text] = Field(
        (), description="names or patterns of configs/suites, - before one leaves it out"
    )
    limits: Limits = Limits()
    on_failure: Literal["strict", "record"] = Field(
        "strict", description="strict: a failed point stops the table; record: its row says how it failed"
    )
    per_workload: dict[str, Variation] = Field(
        default_factory=dict, description="additions for workloads and suites by name or pattern"
    )
    figures: FigureChoice = FigureChoice()
    sampling: Sampling | None = Field(
        None, description="simulate some operations of the suites and estimate the others"
    )
    workgroups: FewerWorkgroups | None = Field(
        None,
        description="gem5-kernels launches the first workgroups of large grids and extrapolates the rest",
    )
    inputs: Inputs = Field(
        DEFAULT,
        description="where inputs lie when the first kernel starts: in the caches of the simulated CPU, or "
        "in memory",
    )
    products: Products | None = Field(
        None,
        description="rocblas or stand-in, where rocBLAS is called; left out: as configs/site.yaml has it",
    )
    _layer_files: tuple[str, ...] = PrivateAttr(())

    @property
    def together(self) -> tuple[tuple[str, ...], ...]:
        """Names that advance together, each in one group: lists of ``zip`` and keys of ``layers``."""
        groups: list[tuple[str, ...]] = []
        for part in self._parts:
            lines = [tuple(f"layer.{name}" for name in line) for line in part.layers[:1]]
            for names in (*map(tuple, part.zip), *lines):
                shared = [group for group in groups if set(group) & set(names)]
                groups = [group for group in groups if group not in shared]
                groups.append(tuple(dict.fromkeys(itertools.chain(*shared, names))))
        return tuple(groups)

    @property
    def layer_files(self) -> tuple[str, ...]:
        """CSV files that ``layers`` were read from, relative to the project's directory."""
        return self._layer_files

    def reading(self, files: tuple[str, ...]) -> Self:
        """The sweep, whose layers stand in these files."""
        if not files:
            return self
        copy = self.model_copy()
        copy._layer_files = files
        return copy

    @field_validator("engines", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        items = [value] if isinstance(value, str) else value
        known = f"one of {', '.join(ENGINES)}"
        if not isinstance(items, list):
            return items
        if not items:
            raise ValueProblem("the sweep names no engine", remedy=known)
        for item in items:
            if item not in tuple(ENGINES):
                raise ValueProblem("unknown engine", value=item, remedy=known)
        return distinct(items, "the engine stands twice")

    @field_validator("workloads", "suites", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        items = [value] if isinstance(value, str) else value
        return distinct(items) if isinstance(items, list) else items

    @model_validator(mode="before")
    @classmethod
    def _implied(cls, data: object) -> object:
        """The preview alone has the release that it was measured on; suites alone run no workload."""
        if not isinstance(data, dict):
            return data
        if data.get("engines") in ("preview", ["preview"]):
            data = {"release": PREVIEW_RELEASE, **data}
        if data.get("suites"):
            data = {"workloads": [], **data}
        return data

    @property
    def _parts(self) -> tuple[Variation, ...]:
        return (self, *self.per_workload.values())

    @model_validator(mode="after")
    def _figures_of_axes(self) -> Self:
        values: dict[str, list[Scalar]] = {}
        for part in self._parts:
            lines = [{f"layer.{name}": (value,) for name, value in line.items()} for line in part.layers]
            groups: list[Mapping[str, Sequence[Scalar]]] = [part.axes, *part.zip, *lines]
            for group in groups:
                for name, given in group.items():
                    values.setdefault(name, []).extend(given)
        self.figures.check({name: tuple(dict.fromkeys(given)) for name, given in values.items()})
        return self

    @model_validator(mode="after")
    def _sampled(self) -> Self:
        if self.sampling is None:
            return self
        message = remedy = ""
        key = "sampling"
        if self.workloads or not self.suites:
            message = "a sample is taken of suites alone"
            remedy = "name suites, as in suites: [resnet50], and give workloads a sweep of their own"
        elif all(is_batch(engine) for engine in self.engines):
            message = "the sweep has no engine that simulates, so there is nothing to estimate"
            remedy = "engines: [gem5-kernels, preview]"
        elif self.figures != FigureChoice():
            message, key, remedy = "a sample has no figures", "figures", "leave figures out, or sampling"
        if message:
            raise ValueProblem(message, key=key, remedy=remedy)
        return self

    @model_validator(mode="after")
    def _can_run(self) -> Self:
        if self.workgroups and not any(engine_facts(engine).own_kernels_only for engine in self.engines):
            message = (
                "no engine of the sweep can launch fewer workgroups: engine gem5 runs the program as it is, "
                "the preview computes whole launches at once"
            )
            remedy = "engines: [gem5-kernels], or leave workgroups out"
            raise ValueProblem(message, key="workgroups", remedy=remedy)
        if self.inputs != DEFAULT and "gem5" in self.engines:
            message = "engine gem5 runs a program that fills its buffers itself"
            remedy = "engines: [gem5-kernels, preview], or leave inputs out"
            raise ValueProblem(message, key="inputs", value=self.inputs, remedy=remedy)
        if not self.workloads and not self.suites:
            remedy = "name at least one workload or suite"
            raise ValueProblem("the sweep runs nothing", key="workloads", remedy=remedy)
        return self
