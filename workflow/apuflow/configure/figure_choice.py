"""What a sweep's figures show: its key ``figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, field_validator

from apuflow.configure.base import ListOf, Model, Text, ValueProblem, did_you_mean
from apuflow.configure.machine import SingleValue
from apuflow.core.figures import FIGURE_NAMES
from apuflow.core.scalar import Scalar


def _flat(value: object) -> object:
    """``{a: 1, layer: {n: 2}}`` with the layer's keys as ``layer.n``."""
    if not isinstance(value, dict) or not isinstance(value.get("layer"), dict):
        return value
    flat = {key: entry for key, entry in value.items() if key != "layer"}
    return flat | {f"layer.{name}": entry for name, entry in value["layer"].items()}


Values: TypeAlias = Annotated[dict[str, SingleValue], BeforeValidator(_flat)]


class FigureChoice(Model):
    """What goes across, what makes lines, what all is relative to, and which figures a report has."""

    x: Text | None = Field(
        None,
        description="the axis across; without it the machine's size with the greatest effect on the GPU time",
    )
    lines: ListOf[Text] | None = Field(
        None, description="axes that make lines, the most important first; all others are held"
    )
    baseline: Values = Field(
        default_factory=dict,
        description="axes at one value each, which speedups are relative to and at which axes are held",
    )
    objectives: ListOf[Text] = Field(
        (),
        description="expressions over columns, the smaller the better: [gpu_cycles, 'tcc_size / 1e6', -ipc]; "
        "the report then has the table of the best points and, of two or more, their Pareto figure",
    )
    show: ListOf[Text] = Field(
        (),
        description="figures of the report; without it all that the axes and engines allow",
        json_schema_extra={"items": {"enum": list(FIGURE_NAMES)}},
    )

    @field_validator("lines", "objectives", "show")
    @classmethod
    def _once(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in names or ():
            if (names or ()).count(name) > 1:
                raise ValueProblem("the name stands twice", value=name, remedy="keep one of them")
        return names

    @field_validator("show")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in FIGURE_NAMES:
                remedy = f"{did_you_mean(name, FIGURE_NAMES)}one of {', '.join(FIGURE_NAMES)}"
                raise ValueProblem("there is no such figure", value=name, remedy=remedy)
        return names

    def check(self, axes: Mapping[str, Sequence[Scalar]]) -> None:
        """Refuse names and values that the sweep does not vary.

        Args:
            axes: values by name, for all workloads together.

        Raises:
            ValueProblem: with those that it does.
        """
        places = {f"figures.baseline.{name}": name for name in self.baseline}
        places |= {"figures.x": self.x} if self.x is not None else {}
        places |= {f"figures.lines.{index}": name for index, name in enumerate(self.lines or (), 1)}
        for key, name in places.items():
            if name not in axes:
                raise ValueProblem(
                    "this is no axis of the sweep",
                    key=key,
                    value=name,
                    remedy=f"{did_you_mean(name, axes)}its axes: {', '.join(axes) or 'none'}",
                )
        if self.x is not None and self.x in (self.lines or ()):
            raise ValueProblem(
                "the axis across cannot make lines, too",
                key="figures.lines",
                value=self.x,
                remedy="keep it in one of x and lines",
            )
        for name, value in self.baseline.items():
            if value not in axes[name]:
                raise ValueProblem(
                    "the axis does not have this value",
                    key=f"figures.baseline.{name}",
                    value=value,
                    remedy=f"one of {', '.join(map(str, axes[name]))}",
                )
