"""JSON schemas of the configuration files, generated from the typed models and the option catalogue.

Editors read them: the first line of a file may say
``# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from apuflow.configure.catalogue import CHOICE_CHANGES, Option, catalogue
from apuflow.configure.loading import machine_names, release_names, suite_names, workload_names
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.suite import CHOICES, SuiteFile
from apuflow.configure.sweep import Machine, Sweep
from apuflow.configure.workloads import schemas
from apuflow.core.engines import ENGINES
from apuflow.operations.layer_keys import LayerKey, by_key, layer_keys

_TYPES = {"int": "integer", "flag": "boolean"}
_LAYER_VALUE = {"type": ["integer", "number", "string", "boolean"]}


def schema_texts(root: Path = Path()) -> dict[str, str]:
    """Text of each schema by file name; names of workloads, machines and so on are those of a project."""
    kinds: dict[str, Any] = {
        "sweep": Sweep,
        "machine": Machine,
        "gem5": Release,
        "site": Site,
        "workload": reduce(or_, schemas().values()),
        "suite": SuiteFile,
    }
    return {
        f"{name}.schema.json": _text(name, TypeAdapter(kind).json_schema(), root)
        for name, kind in kinds.items()
    }


def _text(name: str, schema: dict[str, Any], root: Path) -> str:
    for part in (schema, *schema.get("$defs", {}).values()):
        properties = part.get("properties", {})
        if "name" in properties and part.get("title") in ("Sweep", "Machine", "Release"):
            del properties["name"]
            part["required"] = [key for key in part.get("required", []) if key != "name"]
        if name in ("sweep", "machine"):
            _with_options(properties, root)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _with_options(properties: dict[str, Any], root: Path) -> None:
    """Offer options, layer keys and names of files where a sweep or machine takes them."""
    machine, release = _named(machine_names(root)), _named(release_names(root))
    workload, suite = _named(workload_names(root)), _named(suite_names(root))
    values = {name: _value(option) for name, option in catalogue().items() if option.role == "machine"}
    varied = {**values, "release": release, "machine": machine}
    lists = {name: _axis(value) for name, value in varied.items()}
    repeating = {name: _axis(value, unique=False) for name, value in varied.items()}
    either = {name: {"anyOf": [value, _axis(value)]} for name, value in varied.items()}
    layer = _layer(_LAYER_VALUE)
    engine = {"enum": list(ENGINES)}
    offered: dict[str, dict[str, Any]] = {
        "options": _closed(values),
        "layer": layer,
        "axes": _closed({**lists, "layer": _layer(_axis(_LAYER_VALUE))}),
        "zip": {"items": _closed({**repeating, "layer": _layer(_axis(_LAYER_VALUE, unique=False))})},
        "layers": {"anyOf": [{"type": "string"}, _axis(layer, unique=False)]},
        "baseline": {"properties": {"layer": layer}, "additionalProperties": _LAYER_VALUE},
        "exclude": {"items": _closed({**either, "layer": _layer({})})},
        "engines": {"anyOf": [engine, _axis(engine, unique=False)]},
        "machine": machine,
        "release": release,
        "workloads": {"anyOf": [workload, {"type": "array", "items": workload}]},
        "suites": {"anyOf": [suite, {"type": "array", "items": suite}]},
    }
    for key in offered.keys() & properties.keys():
        properties[key] |= offered[key]
        for alternative in ("type", "items") if "anyOf" in offered[key] else ():
            properties[key].pop(alternative, None)


def _named(names: Sequence[str]) -> dict[str, Any]:
    """Known names, which an editor offers, or another text: a pattern, or a file that is not there yet."""
    return {"anyOf": [{"enum": list(names)}, {"type": "string"}]}


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _axis(value: Mapping[str, Any], *, unique: bool = True) -> dict[str, Any]:
    return {"type": "array", "items": dict(value), "minItems": 1, **({"uniqueItems": True} if unique else {})}


def _layer(value: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of layers, offered by name; parameters of other kinds of workload have names of their own."""
    facts = by_key(layer_keys())
    return {
        "type": "object",
        "properties": {
            key: {**_described(facts.get(key, ())), **value} for key in sorted({*facts, *CHOICES})
        },
        "patternProperties": {r"^[A-Za-z_][A-Za-z0-9_.]*$": dict(value)},
        "additionalProperties": False,
    }


def _described(facts: Iterable[LayerKey]) -> dict[str, str]:
    """What a layer key means, by operation where it has several meanings."""
    several = [(fact.operation, f"{fact.meaning} ({fact.values})") for fact in facts]
    if len(several) == 1:
        return {"description": several[0][1]}
    return {"description": "; ".join(f"{of}: {meaning}" for of, meaning in several)} if several else {}


def _value(option: Option) -> dict[str, Any]:
    unit = f" [{option.unit}]" if option.unit else ""
    result: dict[str, Any] = {"description": option.meaning + unit}
    changes = (option.changes or {}).values()
    later = (value for change in changes for key in CHOICE_CHANGES for value in change.get(key, ()))
    if choices := list(dict.fromkeys((*option.choices, *later))):
        return result | {"enum": choices}
    result["type"] = ["string", "integer"] if option.type == "size" else _TYPES.get(option.type, "string")
    if option.default is not None:
        result["default"] = option.default
    if option.type == "int":
        bounds = {"minimum": option.minimum, "maximum": option.maximum}
        result |= {key: bound for key, bound in bounds.items() if bound is not None}
    return result
