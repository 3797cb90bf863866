"""What users of the project depend on, as texts: names of points, paths, commands, rules, keys, columns.

``tests/unit/test_frozen.py`` compares them with ``tests/data/frozen``; ``tests/renew_frozen.py`` writes that.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from frozen_points import ANY_VERSION, SEPARATOR, described_points, digest_lines
from places import DATA
from pydantic import TypeAdapter

# All names of the project that this file needs; nothing below imports more.
from apuflow.cli import build_app
from apuflow.configure import (
    Machine,
    Release,
    Site,
    Sweep,
    load_release,
    release_names,
)
from apuflow.configure.catalogue import catalogue
from apuflow.configure.command_workload import CommandFile
from apuflow.configure.kernel_file import KernelsFile
from apuflow.configure.operation_workload import DnnmarkFile, OperationFile
from apuflow.configure.suite import SuiteFile
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.record import RunRecord
from apuflow.dnnmark import LAYER_KEYS
from apuflow.prepare.requests import request
from apuflow_analysis.figures import FIGURES

# All names of the project that this file needs; nothing below imports more.
from apuflow_analysis.tables.columns import layout

FROZEN = DATA / "frozen"
NOTHING = "(nothing)"


# paths and rules ------------------------------------------------------------------------------------------

_ARGUMENTS: Mapping[str, str | int] = {
    "request": "01234567",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "engine": "gem5-kernels",
    "file": "gfx801_8.ukdb",
    "gfx": "gfx801",
    "machine": "apu-gfx801-wide",
    "name": "some_name",
    "place": "/opt/gem5/gem5.opt",
    "point": "u8_n10-01234567",
    "release": "v23.0",
    "repository": "resources",
    "rows": "0123456789abcdef",
    "size": 4096,
    "sources": "fedcba9876543210",
    "sweep": "memory",
    "tool": "gem5-VEGA_X86",
    "under": "memory/",
    "workload": "softmax_bwd",
}
"""A value for every parameter of a path that has no other."""


def path_lines(root: Path) -> Iterator[str]:
    """Every path of ``paths`` with fixed arguments and, where all have defaults, as a pattern.

    Then the files that the toolchain of each release is recorded in: another name means hours of compiling.
    """
    for name, function in sorted(vars(paths).items()):
        parameters: dict[str, object] = {}
        if isinstance(function, paths.PathPattern):
            parameters |= function.defaults
        elif inspect.isfunction(function) and function.__module__ == paths.__name__:
            found = inspect.signature(function).parameters.values()
            parameters |= {parameter.name: parameter.default for parameter in found}
        else:
            continue
        if name == "log":
            yield f"log('simulate', 'x'){SEPARATOR}{function('simulate', 'x')}"
            continue
        if inspect.Parameter.empty not in parameters.values():
            yield f"{name}(){SEPARATOR}{function()}"
        given = {key: _ARGUMENTS[key] for key in parameters if key in _ARGUMENTS}
        if given:
            shown = ", ".join(f"{key}={value!r}" for key, value in given.items())
            yield f"{name}({shown}){SEPARATOR}{function(**given)}"
    yield f"under('default'){SEPARATOR}{paths.under('default') or NOTHING}"
    for release in release_names(root):
        loaded = load_release(release, root)
        builds = (f"gem5-{target}" for target in loaded.build_targets)
        for tool in ("source-gem5", "source-resources", "source-miopen", "image", "dnnmark", *builds):
            record = paths.tool_record(release, tool, request(tool, loaded, Site(container="docker"), root))
            yield f"record of {tool} of {release}{SEPARATOR}{record}"


_LIST_RULES = """\
include: "workflow/Snakefile"

import json, pathlib

pathlib.Path("rules.json").write_text(json.dumps([
    {
        "name": rule.name,
        "checkpoint": rule.is_checkpoint,
        "output": [[name, str(file)] for name, file in rule.output._allitems()],
        "log": list(map(str, rule.log)),
        "wildcards": sorted(rule.wildcard_names),
    }
    for rule in workflow.rules
]))
"""


def rule_lines(root: Path) -> Iterator[str]:
    """The rules as Snakemake itself has them, with outputs, logs and wildcards."""
    (root / "rules.smk").write_text(_LIST_RULES)
    command = [str(Path(sys.executable).with_name("snakemake")), "--snakefile", "rules.smk", "--list-rules"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"snakemake cannot read the rules:\n{done.stdout}{done.stderr}")
    for rule in sorted(json.loads((root / "rules.json").read_text()), key=lambda rule: str(rule["name"])):
        kind = "checkpoint" if rule["checkpoint"] else "rule"
        name = f"{kind} {rule['name']}"
        yield f"{name} wildcards{SEPARATOR}{' '.join(rule['wildcards']) or NOTHING}"
        for key, file in rule["output"]:
            yield f"{name} output {key or ''}".rstrip() + f"{SEPARATOR}{file}"
        for file in rule["log"]:
            yield f"{name} log{SEPARATOR}{file}"


# commands -------------------------------------------------------------------------------------------------


def command_lines(root: Path) -> Iterator[str]:
    """Every command of ``apuflow`` with its arguments (by place) and options (by name)."""
    yield from _commands("apuflow", typer.main.get_command(build_app()))


def _commands(name: str, command: Any) -> Iterator[str]:
    subcommands = getattr(command, "commands", {})
    yield f"{name}{SEPARATOR}{'group' if subcommands else 'command'}"
    place = 0
    for parameter in command.params:
        facts = ["needed"] if parameter.required else [f"default {_plain(parameter.default)}"]
        facts += ["several"] if parameter.multiple or parameter.nargs != 1 else []
        if parameter.param_type_name == "argument":
            place += 1
            yield f"{name} argument {place} {parameter.name}{SEPARATOR}{', '.join(facts)}"
            continue
        facts += ["flag"] if parameter.is_flag else ["takes a value"]
        flags = "/".join([*parameter.opts, *parameter.secondary_opts])
        yield f"{name} {flags}{SEPARATOR}{', '.join(facts)}"
    for key, subcommand in sorted(subcommands.items()):
        yield from _commands(f"{name} {key}", subcommand)


# keys and columns -----------------------------------------------------------------------------------------

_KINDS: Mapping[str, Any] = {
    "sweep": Sweep,
    "machine": Machine,
    "release": Release,
    "site": Site,
    "workload of kind dnnmark": DnnmarkFile,
    "workload of kind command": CommandFile,
    "workload of kind operation": OperationFile,
    "suite": SuiteFile,
    "workload of kind kernels": KernelsFile,
    "run.json": RunRecord,
}
_NOT_WRITTEN = ("sweep: name", "machine: name", "release: name")
"""Filled from the name of the file."""
_BOUNDS = ("pattern", "minimum", "maximum", "minLength", "maxLength", "minItems")
_OPTION_FACTS = (
    *("type", "role", "short", "default", "workflow_default", "unit", "minimum", "maximum"),
    *("multiple_of", "power_of_two", "choices", "since", "until", "changes"),
)


def key_lines(root: Path) -> Iterator[str]:
    """The keys of every kind of configuration file and of ``run.json``, the options, the keys of layers."""
    for kind, model in _KINDS.items():
        schema = TypeAdapter(model).json_schema()
        yield from _keys(f"{kind}: ", schema, schema.get("$defs", {}))
    for option in catalogue().values():
        facts = {name: getattr(option, name) for name in _OPTION_FACTS}
        known = {name: value for name, value in facts.items() if value not in (None, (), False)}
        known |= {"default": False} if option.default is False else {}
        yield f"option: {option.name}{SEPARATOR}{_plain(known)}"
    for kind, keys in sorted(LAYER_KEYS.items()):
        for name, key in sorted(keys.items()):
            text = f"{key.type.__name__}, default {_plain(key.default)}"
            text += f", one of {' '.join(key.choices)}" if key.choices else ""
            yield f"layer {kind}: {name}{SEPARATOR}{text}"


def _keys(prefix: str, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[str]:
    """The keys below a JSON schema, dotted, each with its type and default."""
    for name, field in schema.get("properties", {}).items():
        if f"{prefix}{name}" in _NOT_WRITTEN:
            continue
        needed = name in schema.get("required", ())
        default = f", default {_plain(field['default'])}" if "default" in field else ""
        yield f"{prefix}{name}{SEPARATOR}{_type(field, defs)}{', needed' if needed else default}"
        for suffix, part in _models(field, defs):
            yield from _keys(f"{prefix}{name}{suffix}.", part, defs)


def _models(field: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Models inside a field, with where they stand: ``[]`` in a list, ``.<name>`` in a mapping."""
    if "$ref" in field:
        part = defs[field["$ref"].rpartition("/")[2]]
        if "properties" in part:
            yield "", part
    for each in field.get("anyOf", ()):
        yield from _models(each, defs)
    for key, suffix in (("items", "[]"), ("additionalProperties", ".<name>")):
        if isinstance(field.get(key), dict):
            yield from ((f"{suffix}{below}", part) for below, part in _models(field[key], defs))


def _type(field: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    """A field's type in words, with its bounds."""
    if "$ref" in field:
        return _type(defs[field["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in field:
        return " or ".join(_type(each, defs) for each in field["anyOf"])
    if "enum" in field or "const" in field:
        return "one of " + " ".join(map(str, field.get("enum", [field.get("const")])))
    words = str(field.get("type", "anything"))
    if isinstance(field.get("items"), dict):
        words = f"list of ({_type(field['items'], defs)})"
    if isinstance(field.get("additionalProperties"), dict):
        names = field.get("propertyNames")
        keys = f"({_type(names, defs)})" if names else "names"
        words = f"mapping of {keys} to ({_type(field['additionalProperties'], defs)})"
    for pattern, each in field.get("patternProperties", {}).items():
        words = f"mapping of names like {pattern} to ({_type(each, defs)})"
    return " ".join([words, *(f"{bound} {field[bound]}" for bound in _BOUNDS if bound in field)])


def column_lines(root: Path) -> Iterator[str]:
    """The columns of a table without axes in their order, and the names of the figures."""
    for column in layout(()):
        yield f"column {column.name}{SEPARATOR}{column.kind}, {column.unit or 'no unit'}"
    for name in sorted(FIGURES):
        yield f"figure {name}{SEPARATOR}results/<sweep>/figures/{name}.svg"


def _plain(value: object) -> str:
    return json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)


# files ----------------------------------------------------------------------------------------------------


def _text(lines: Callable[[Path], Iterator[str]]) -> Callable[[Path], str]:
    return lambda root: "".join(f"{line}\n" for line in lines(root))


def _any_version(lines: Callable[[Path], Iterator[str]]) -> Callable[[Path], Iterator[str]]:
    """The lines with ANY_VERSION in the directories of the preview."""
    return lambda root: (re.sub(rf"\.v{PREVIEW_VERSION}\b", f".v{ANY_VERSION}", line) for line in lines(root))


FACTS: Mapping[str, Callable[[Path], str]] = {
    "points.txt": _text(digest_lines),
    "described.json": lambda root: json.dumps(described_points(root), indent=1, sort_keys=True) + "\n",
    "paths.txt": _text(_any_version(path_lines)),
    "rules.txt": _text(_any_version(rule_lines)),
    "commands.txt": _text(command_lines),
    "keys.txt": _text(key_lines),
    "columns.txt": _text(column_lines),
}
"""What a file of ``tests/data/frozen`` should hold, from a fresh copy of the project."""


def changes(before: str, after: str) -> list[str]:
    """What is different between two texts of the same file: a line for each entry, by its name."""
    old, new = _entries(before), _entries(after)
    found = [f"gone: {name}{SEPARATOR}{_short(old[name])}" for name in old if name not in new]
    found += [f"new: {name}{SEPARATOR}{_short(new[name])}" for name in new if name not in old]
    found += [
        f"changed: {name}{_difference(old[name], new[name])}"
        for name in old
        if name in new and old[name] != new[name]
    ]
    if not found and list(old) != list(new):
        name = next(a for a, b in zip(old, new, strict=True) if a != b)
        found.append(f"in another order, from here on: {name}")
    return found


def _entries(text: str) -> dict[str, str]:
    if text.startswith("{"):
        return dict(_flat("", json.loads(text)))
    pairs = [line.partition(SEPARATOR) for line in text.splitlines()]
    entries = {name: value for name, _, value in pairs}
    if len(entries) != len(pairs):
        raise ValueError("two entries have the same name")
    return entries


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield prefix, _plain(value)
        return
    for key, each in value.items():
        yield from _flat(f"{prefix} > {key}" if prefix else key, each)


def _difference(old: str, new: str) -> str:
    if max(len(old), len(new)) <= 200:
        return f"\n    was {old}\n    is  {new}"
    a, b = old.split(), new.split()
    was, now = [word for word in a if word not in set(b)], [word for word in b if word not in set(a)]
    if not was and not now:
        return ": the same, in another order"
    return f"\n    {len(was)} of {len(a)} gone: {_few(was)}\n    {len(now)} of {len(b)} new:  {_few(now)}"


def _few(words: list[str]) -> str:
    return " ".join(words[:3]) + (" ..." if len(words) > 3 else "")


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."
