"""The kinds and keys of operations for schemas and documents."""

from __future__ import annotations

import json
from collections.abc import Iterable

from apuflow.operations.key import Key, keys_of
from apuflow.operations.registry import KINDS


def shape_keys() -> set[str]:
    """Every key that the shape of some operation has."""
    return {key.name for kind in KINDS.values() for key in keys_of(kind)}


def kinds_text() -> str:
    """A table of the kinds with their keys, then one of what the keys mean."""
    lines = ["| operation | what it computes | directions | kernels | keys |", "|---|---|---|---|---|"]
    meanings: dict[str, dict[str, list[str]]] = {}
    for name, kind in KINDS.items():
        keys = list(keys_of(kind))
        cells = (kind.title, ", ".join(kind.directions), kind.source, " ".join(map(_shown, keys)))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
        for key in keys:
            meanings.setdefault(key.name, {}).setdefault(f"{key.meaning}{_choices(key)}", []).append(name)
    lines += ["", "| key | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {_meanings(found)} |" for name, found in meanings.items()]
    return "\n".join([*lines, ""])


def _shown(key: Key) -> str:
    return f"`{key.name}`" if key.default is None else f"`{key.name}={json.dumps(key.default)}`"


def _meanings(found: dict[str, list[str]]) -> str:
    """The most frequent meaning, then the others with their operations."""
    (usual, _), *others = sorted(found.items(), key=lambda item: -len(item[1]))
    return "; ".join([usual, *(f"{_joined(names)}: {meaning}" for meaning, names in others)])


def _joined(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _choices(key: Key) -> str:
    return f": {', '.join(key.choices)}" if key.choices else ""
