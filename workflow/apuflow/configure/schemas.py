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

from apuflow.configure.catalogue import Option, catalogue
from apuflow.configure.machine import Machine
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.suite import CHOICES, SuiteFile
from apuflow.configure.sweep import Sweep
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
    values = {name: _value(option) for name, option in catalogue().items() if option.role == "machine"}
    places = {"release": {"type": "string"}, "machine": {"type": "string"}}
    lists = {name: _axis(value) for name, value in {**values, **places}.items()}
    lists["layer"] = _layer(_axis(_LAYER_VALUE))
    either = {name: {"anyOf": [value, _axis(value)]} for name, value in {**values, **places}.items()}
    either["layer"] = _layer({})
    if "options" in properties:
        properties["options"] |= _closed(values)
    if "layer" in properties:
        properties["layer"] |= _layer(_LAYER_VALUE)
    if "axes" in properties:
        properties["axes"] |= _closed(lists)
    if "zip" in properties:
        repeating = {name: _axis(value, unique=False) for name, value in {**values, **places}.items()}
        repeating["layer"] = _layer(_axis(_LAYER_VALUE, unique=False))
        properties["zip"]["items"] = _closed(repeating)
    if "layers" in properties:
        lines = {"type": "array", "items": _layer(_LAYER_VALUE), "minItems": 1}
        properties["layers"] |= {"anyOf": [{"type": "string"}, lines]}
        properties["layers"].pop("type", None)
        properties["layers"].pop("items", None)
    if "baseline" in properties:
        properties["baseline"] |= {
            "properties": {"layer": _layer(_LAYER_VALUE)},
            "additionalProperties": _LAYER_VALUE,
        }
    if "exclude" in properties:
        properties["exclude"]["items"] = _closed(either)
    if "engines" in properties:
        names = {"enum": list(ENGINES)}
        properties["engines"] |= {"anyOf": [names, {"type": "array", "items": names, "minItems": 1}]}
        properties["engines"].pop("type", None)
        properties["engines"].pop("items", None)
    for key in {"workloads", "suites"} & set(properties):
        listed = {"type": "array", "items": {"type": "string"}}
        properties[key] |= {"anyOf": [{"type": "string"}, listed]}
        properties[key].pop("type", None)
        properties[key].pop("items", None)


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
    choices = [*option.choices]
    for change in (option.changes or {}).values():
        for value in (*change.get("choices", ()), *change.get("added_choices", ())):
            if value not in choices:
                choices.append(value)
    if choices:
        result["enum"] = choices
        return result
    result["type"] = ["string", "integer"] if option.type == "size" else _TYPES.get(option.type, "string")
    if option.default is not None:
        result["default"] = option.default
    if option.type == "int":
        bounds = {"minimum": option.minimum, "maximum": option.maximum}
        result |= {key: bound for key, bound in bounds.items() if bound is not None}
    return result
