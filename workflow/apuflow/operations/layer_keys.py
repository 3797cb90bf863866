"""What every layer key is, of DNNMark's layers and of operations beyond them: meaning, values, default.

Help texts, the documents and the schema of sweeps are written from these facts; the classes of layers and
operations state them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from apuflow import dnnmark
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import LAYER_KEYS
from apuflow.operations.key import keys_of
from apuflow.operations.registry import KINDS

NOT_SET = ("name", "previous_layer")
"""Keys of a network's file that no sweep sets."""
_ALONG: Final[Mapping[tuple[str, ...], str]] = {("h",): ", along the height", ("w",): ", along the width"}


class LayerKey(NamedTuple):
    """A key of a layer or operation.

    Attributes:
        operation: section of a ``.dnnmark`` file, or name of an operation.
        values: which ones it takes, in words.
        default: as a sweep writes it; "" where there is none and the key must be given.
        choices: the only values, as text; empty: others than these few.
    """

    operation: str
    key: str
    values: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()

    def of_workload(self, key: str, value: Scalar | None) -> LayerKey:
        """The key as a workload names it, with the workload's value in place of the default."""
        return self._replace(key=key, default=_written(value))


def layer_keys(operation: str = "") -> Iterator[LayerKey]:
    """Every key that a sweep can set: of one kind of layer or operation, or of all."""
    for name, keys in LAYER_KEYS.items():
        if operation in ("", name):
            yield from (_fact(name, key) for key in keys.values() if key.name not in NOT_SET)
    for name, kind in KINDS.items():
        if operation in ("", name):
            yield from (_fact(name, key) for key in keys_of(kind))


def by_key(facts: Iterable[LayerKey]) -> dict[str, list[LayerKey]]:
    """Facts by key; those that say the same of several operations are one, with all their names."""
    found: dict[str, dict[LayerKey, list[str]]] = {}
    for fact in facts:
        found.setdefault(fact.key, {}).setdefault(fact._replace(operation=""), []).append(fact.operation)
    return {
        key: [fact._replace(operation=", ".join(names)) for fact, names in same.items()]
        for key, same in found.items()
    }


def _fact(operation: str, key: dnnmark.Key) -> LayerKey:
    choices = ("true", "false") if key.type is bool else key.choices
    return LayerKey(
        operation,
        key.name,
        _values(key),
        _written(key.default),
        key.meaning + _ALONG.get(tuple(key.axes), ""),
        choices,
    )


def _written(value: Scalar | None) -> str:
    """A value as a sweep's file has it."""
    return "" if value is None else json.dumps(value).strip('"')


def _values(key: dnnmark.Key) -> str:
    """The values that a key takes, in words."""
    if key.type is bool:
        return "true, false"
    if key.type is str:
        return ", ".join(key.choices) or "text"
    kind = "whole number" if key.type is int else "number"
    return kind if key.minimum is None else f"{kind} ≥ {key.minimum:g}"
