"""Write ``.dnnmark`` text: the canonical text of a network, and given text with other values.

A sweep over layer keys changes given text, so that comments and order stay as its author wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark.key import format_value
from apuflow.dnnmark.layers import LAYER_KEYS
from apuflow.dnnmark.network import Network
from apuflow.dnnmark.parser import GENERAL, Section, parse, sections


def write(network: Network) -> str:
    """The canonical text of a network: parsing it gives the network again.

    It is part of the identity of every run: defaults are written out, comments and order of keys are gone.
    """
    lines = [f"[{GENERAL}]", f"run_mode={network.run_mode}"]
    for layer in network.layers:
        lines += ["", f"[{layer.kind}]"]
        lines += [f"name={layer.name}"] if layer.name else []
        if network.owns_input(layer):
            lines += [f"{axis}={size}" for axis, size in layer.input._asdict().items()]
        lines += [f"previous_layer={layer.previous}"] if layer.previous else []
        for key in LAYER_KEYS[layer.kind].values():
            value = key.stated(layer.params)
            lines += [] if value is None else [f"{key.name}={format_value(value)}"]
    return "\n".join(lines) + "\n"


def with_layer_values(text: str, values: Mapping[str, Scalar], file: str | Path | None = None) -> str:
    """``text`` with other values for some layer keys; everything else stays as it is.

    Args:
        values: by key. ``name.key`` means that layer. A bare key means, in a composed network, the first
            layer that states it (or, if none does, the first that takes it); else every layer that takes it.
        file: its name, for error messages.

    Raises ConfigError: a key or layer that is not there, or a value that DNNMark does not take.
    """
    try:
        lines = _settable(text, tuple(values), file)
    except ConfigError as error:
        if error.key is not None and error.key in values:
            error.value = values[error.key]
        raise
    written = {name: format_value(value) for name, value in values.items()}
    result = "\n".join([f"{line}{written[name]}" if name else line for line, name in lines])
    parse(result, file)
    return result


@lru_cache(maxsize=1024)
def _settable(text: str, names: tuple[str, ...], file: str | Path | None) -> tuple[tuple[str, str], ...]:
    """The lines of ``text``, each with the name of the key whose value goes behind it, or ""."""
    lines = [(line, "") for line in text.split("\n")]
    for name in names:
        parts = sections("\n".join(line for line, _ in lines), file)
        composed = any(
            part.name == GENERAL and entry.value == "composed" for part in parts for entry in part.entries
        )
        layers = [part for part in parts if part.name != GENERAL]
        key, targets = _targets(name, layers, composed, file)
        for part in reversed(targets):
            lines = _replace(lines, part, key, name)
    return tuple(lines)


def _targets(
    name: str, layers: list[Section], composed: bool, file: str | Path | None
) -> tuple[str, list[Section]]:
    """The key that ``name`` means, and the sections to set it in."""
    layer_name, _, key = name.rpartition(".")
    every = {known for part in layers for known in LAYER_KEYS[part.name]}
    allowed = sorted(every - {"name", "previous_layer"})
    if key not in allowed:
        remedy = f"keys that can be set: {', '.join(allowed)}"
        raise ConfigError("no layer of this network has this key", file=file, key=name, remedy=remedy)
    if layer_name:
        chosen = [part for part in layers if _name(part) == layer_name]
        if len(chosen) != 1 or key not in LAYER_KEYS[chosen[0].name]:
            remedy = f"layers: {', '.join(f'{_name(part)} [{part.name}]' for part in layers)}"
            what = "two layers of this name" if len(chosen) > 1 else "no layer of this name takes this key"
            raise ConfigError(what, file=file, key=name, remedy=remedy)
        return key, chosen
    takers = [part for part in layers if key in LAYER_KEYS[part.name]]
    if not composed:
        return key, takers
    stating = [part for part in takers if any(entry.key == key for entry in part.entries)]
    return key, (stating or takers)[:1]


def _name(part: Section) -> str:
    return next((entry.value for entry in reversed(part.entries) if entry.key == "name"), "")


def _replace(lines: list[tuple[str, str]], part: Section, key: str, name: str) -> list[tuple[str, str]]:
    """Put ``key=`` and the value of ``name`` where the section last stated it, or behind its last line.

    A key of both axes (``stride``) also takes out ``stride_h`` and ``stride_w``, which it replaces. One of
    these goes behind a key of both axes, so that it has the last word.
    """
    known = LAYER_KEYS[part.name]
    given = [(entry.line, known[entry.key]) for entry in part.entries if entry.key in known]
    stale = {line for line, other in given if known[key].covers(other)}
    wider = {line for line, other in given if other.covers(known[key])}
    place = max(stale | wider, default=part.entries[-1].line if part.entries else part.line)
    result = []
    for number, line in enumerate(lines, start=1):
        if number not in stale:
            result.append(line)
        if number == place:
            result.append((f"{key}=", name))
    return result
