"""The kinds and keys of operations for schemas and documents."""

from __future__ import annotations

import json

from apuflow.operations.key import Key, keys_of
from apuflow.operations.registry import KINDS


def shape_keys() -> set[str]:
    """Every key that the shape of some operation has."""
    return {key.name for kind in KINDS.values() for key in keys_of(kind)}


def kinds_text() -> str:
    """A table of the kinds, then one of keys for each."""
    lines = ["| operation | what it computes | directions | kernels |", "|---|---|---|---|"]
    for name, kind in KINDS.items():
        lines.append(f"| `{name}` | {kind.title} | {', '.join(kind.directions)} | {kind.source} |")
    for name, kind in KINDS.items():
        lines += ["", f"`{name}`:", "", "| key | default | meaning |", "|---|---|---|"]
        lines += [
            f"| `{key.name}` | {_default(key)} | {key.meaning}{_choices(key)} |" for key in keys_of(kind)
        ]
    return "\n".join([*lines, ""])


def _default(key: Key) -> str:
    return "needed" if key.default is None else f"`{json.dumps(key.default)}`"


def _choices(key: Key) -> str:
    return f": {', '.join(key.choices)}" if key.choices else ""
