"""A machine: named values of ``apu_se.py`` options (``configs/machines/<name>.yaml``)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from apuflow.configure.base import Model, Name, Text, ValueProblem
from apuflow.core.scalar import Scalar


def _scalar(value: object) -> object:
    if isinstance(value, (bool, int, float, str)):
        return value
    raise ValueProblem(
        "a single value is expected",
        value=value if value is None else f"{value}"[:80],
        remedy="a number, text, true or false (a list of values belongs under axes)",
    )


SingleValue: TypeAlias = Annotated[Scalar, BeforeValidator(_scalar)]
"""One option value of a file, checked: number, text, true or false."""


class Machine(Model):
    """One ``configs/machines/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    options: dict[str, SingleValue] = Field(
        default_factory=dict, description="apu_se.py options, without dashes; the rest keep their defaults"
    )
