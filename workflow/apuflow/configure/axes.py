"""Lists of values in a sweep's file: axes, groups that advance together, conditions."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator

from apuflow.configure.base import ValueProblem
from apuflow.configure.machine import SingleValue


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
        raise ValueProblem(
            "an axis is a list of values",
            value=value if isinstance(value, (str, int, float, bool)) or value is None else str(value)[:80],
            remedy=f"write [{', '.join(parts)}]"
            if isinstance(value, str) and len(parts := separated(value)) > 1
            else "write [4, 8, 16]; a single fixed value belongs under options (or layer)",
        )
    if not value:
        raise ValueProblem(
            "an axis of length 0 leaves no points",
            value=value,
            remedy="give it at least one value, or remove it",
        )
    for item in value:
        if isinstance(item, str) and len(parts := separated(item)) > 1:
            raise ValueProblem(
                "a comma is missing between the values of the list",
                value=item,
                remedy=f"write [{', '.join(parts)}]",
            )
    kinds = {kind for item in value if (kind := _kind(item)) is not None}
    if len(kinds) > 1:
        raise ValueProblem(
            f"the list mixes {' and '.join(sorted(kinds))}",
            value=", ".join(map(str, value))[:80],
            remedy="write all values alike; a size and a clock have a unit: 256kB, 2GHz",
        )
    spelt: dict[object, object] = {}
    for item in (item for item in value if _kind(item) == _NUMBERS):
        first = spelt.setdefault(item, item)
        if type(first) is not type(item):
            raise ValueProblem(
                f"the list has one number in two spellings, {first} and {item}",
                value=item,
                remedy=f"write {float(item):g} alone",
            )
    return tuple(value)


_NUMBERS = "numbers"


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


def _alternatives(value: object) -> object:
    return tuple(value) if isinstance(value, list) else (value,)


Axis: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(_values)]
Listed: TypeAlias = Annotated[tuple[SingleValue, ...], BeforeValidator(listed)]
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
                    "keys of layers stand below the key layer",
                    key=key,
                    remedy=f"axes: {{layer: {{{key[6:]}: [...]}}}}",
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
ZipMap: TypeAlias = Annotated[dict[str, Listed], BeforeValidator(_flat_axes)]
Condition: TypeAlias = Annotated[dict[str, Alternatives], BeforeValidator(_flat_axes)]
