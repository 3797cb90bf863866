"""JSON schemas of the configuration files, generated from the typed models and the option catalogue.

Editors read them: the first line of a file may say
``# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from pydantic import TypeAdapter

from apuflow.configure.catalogue import CHOICE_CHANGES, Option, catalogue
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.suite import CHOICES, SuiteFile
from apuflow.configure.sweep import Machine, Sweep
from apuflow.configure.workloads import schemas
from apuflow.core.engines import ENGINES
from apuflow.dnnmark import LAYER_KEYS
from apuflow.operations.registry import shape_keys

_TYPES = {"int": "integer", "flag": "boolean"}
_LAYER_VALUE = {"type": ["integer", "number", "string", "boolean"]}


def schema_texts() -> dict[str, str]:
    """Text of each schema by file name."""
    kinds: dict[str, Any] = {
        "sweep": Sweep,
        "machine": Machine,
        "gem5": Release,
        "site": Site,
        "workload": reduce(or_, schemas().values()),
        "suite": SuiteFile,
    }
    return {
        f"{name}.schema.json": _text(name, TypeAdapter(kind).json_schema()) for name, kind in kinds.items()
    }


def _text(name: str, schema: dict[str, Any]) -> str:
    for part in (schema, *schema.get("$defs", {}).values()):
        properties = part.get("properties", {})
        if "name" in properties and part.get("title") in ("Sweep", "Machine", "Release"):
            del properties["name"]
            part["required"] = [key for key in part.get("required", []) if key != "name"]
        if name in ("sweep", "machine"):
            _with_options(properties)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _with_options(properties: dict[str, Any]) -> None:
    """Offer the options by name where a mapping of options, axes or exclusions is expected."""
    text = {"type": "string"}
    values = {name: _value(option) for name, option in catalogue().items() if option.role == "machine"}
    varied = {**values, "release": text, "machine": text}
    lists = {name: _axis(value) for name, value in varied.items()}
    repeating = {name: _axis(value, unique=False) for name, value in varied.items()}
    either = {name: {"anyOf": [value, _axis(value)]} for name, value in varied.items()}
    layer = _layer(_LAYER_VALUE)
    engine = {"enum": list(ENGINES)}
    names = {"anyOf": [text, {"type": "array", "items": text}]}
    offered: dict[str, dict[str, Any]] = {
        "options": _closed(values),
        "layer": layer,
        "axes": _closed({**lists, "layer": _layer(_axis(_LAYER_VALUE))}),
        "zip": {"items": _closed({**repeating, "layer": _layer(_axis(_LAYER_VALUE, unique=False))})},
        "layers": {"anyOf": [text, _axis(layer, unique=False)]},
        "baseline": {"properties": {"layer": layer}, "additionalProperties": _LAYER_VALUE},
        "exclude": {"items": _closed({**either, "layer": _layer({})})},
        "engines": {"anyOf": [engine, _axis(engine, unique=False)]},
        "workloads": names,
        "suites": names,
    }
    for key in offered.keys() & properties.keys():
        properties[key] |= offered[key]
        for alternative in ("type", "items") if "anyOf" in offered[key] else ():
            properties[key].pop(alternative, None)


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _axis(value: Mapping[str, Any], *, unique: bool = True) -> dict[str, Any]:
    return {"type": "array", "items": dict(value), "minItems": 1, **({"uniqueItems": True} if unique else {})}


def _layer(value: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of layers, offered by name; parameters of other kinds of workload have names of their own."""
    layers = {key for keys in LAYER_KEYS.values() for key in keys} - {"name", "previous_layer"}
    keys = sorted(layers | shape_keys() | set(CHOICES))
    return {
        "type": "object",
        "properties": {key: dict(value) for key in keys},
        "patternProperties": {r"^[A-Za-z_][A-Za-z0-9_.]*$": dict(value)},
        "additionalProperties": False,
    }


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
