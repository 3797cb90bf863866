"""Write a network as ``.dnnmark`` text.

Set layer keys in given ``.dnnmark`` text: what a sweep over layer keys does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.dnnmark.layers import DIMENSIONS, LAYER_KEYS, Key, Layer, Network, Value
from apuflow.dnnmark.parser import GENERAL, Section, parse, sections


def format_value(value: Value) -> str:
    """A value as DNNMark reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def write(network: Network) -> str:
    """The canonical text of a network."""
    lines = [f"[{GENERAL}]", f"run_mode={network.run_mode}"]
    for layer in network.layers:
        lines += ["", f"[{layer.kind}]", *_entries(network, layer)]
    return "\n".join(lines) + "\n"


def _entries(network: Network, layer: Layer) -> list[str]:
    lines = [f"name={layer.name}"] if layer.name else []
    if network.owns_input(layer):
        lines += [f"{axis}={size}" for axis, size in zip(DIMENSIONS, layer.input, strict=True)]
    if layer.previous:
        lines.append(f"previous_layer={layer.previous}")
    for key in LAYER_KEYS[layer.kind].values():
        values = [getattr(layer.params, field) for field in key.fields if hasattr(layer.params, field)]
        if not values or _covered(key, layer) or values[0] == "":
            continue
        if len(set(values)) == 1:
            lines.append(f"{key.name}={format_value(values[0])}")
    return lines


def _covered(key: Key, layer: Layer) -> bool:
    """Whether the plain key (``kernel_size``) already says what ``key`` (``kernel_size_h``) would say."""
    if not key.name.endswith(("_h", "_w")):
        return False
    plain = LAYER_KEYS[layer.kind].get(key.name[:-2])
    if plain is None or key.fields[0] not in plain.fields:
        return False
    return len({getattr(layer.params, field) for field in plain.fields}) == 1


def with_layer_values(text: str, values: Mapping[str, Value], file: str | Path | None = None) -> str:
    """``text`` with other values for some layer keys; everything else stays as it is.

    Args:
        text: content of a ``.dnnmark`` file.
        values: by key. ``name.key`` means that layer. A bare key means, in a composed network, the first
            layer that states it (or, if none does, the first that takes it); else every layer that takes it.
        file: its name, for error messages.

    Raises:
        ConfigError: a key or layer that is not there, or a value that DNNMark does not take.
    """
    lines = text.split("\n")
    for name, value in values.items():
        parts = sections("\n".join(lines), file)
        composed = any(
            part.name == GENERAL and entry.value == "composed" for part in parts for entry in part.entries
        )
        layers = [part for part in parts if part.name != GENERAL]
        key, targets = _targets(name, value, layers, composed, file)
        for part in reversed(targets):
            lines = _replace(lines, part, key, format_value(value))
    result = "\n".join(lines)
    parse(result, file)
    return result


def _targets(
    name: str, value: Value, layers: list[Section], composed: bool, file: str | Path | None
) -> tuple[str, list[Section]]:
    layer_name, _, key = name.rpartition(".")
    allowed = sorted(
        {known for part in layers for known in LAYER_KEYS[part.name]} - {"name", "previous_layer"}
    )
    if key not in allowed:
        raise ConfigError(
            "no layer of this network has this key",
            file=file,
            key=name,
            value=value,
            remedy=f"keys that can be set: {', '.join(allowed)}",
        )
    if layer_name:
        chosen = [part for part in layers if _name(part) == layer_name]
        if len(chosen) != 1 or key not in LAYER_KEYS[chosen[0].name]:
            names = ", ".join(f"{_name(part)} [{part.name}]" for part in layers)
            raise ConfigError(
                "two layers of this name" if len(chosen) > 1 else "no layer of this name takes this key",
                file=file,
                key=name,
                value=value,
                remedy=f"layers: {names}",
            )
        return key, chosen
    takers = [part for part in layers if key in LAYER_KEYS[part.name]]
    if not composed:
        return key, takers
    stating = [part for part in takers if any(entry.key == key for entry in part.entries)]
    return key, (stating or takers)[:1]


def _name(part: Section) -> str:
    return next((entry.value for entry in reversed(part.entries) if entry.key == "name"), "")


def _replace(lines: list[str], part: Section, key: str, value: str) -> list[str]:
    """Put ``key=value`` where the section last stated it, or behind the section's last line.

    The plain key (``stride``) also takes out ``stride_h`` and ``stride_w``, which it replaces; an ``_h`` or
    ``_w`` key goes behind the plain one, so that it has the last word.
    """
    variants = {key, f"{key}_h", f"{key}_w"} if f"{key}_h" in LAYER_KEYS[part.name] else {key}
    stale = {entry.line for entry in part.entries if entry.key in variants}
    plain = key[:-2] if key.endswith(("_h", "_w")) and key[:-2] in LAYER_KEYS[part.name] else None
    kept = [entry.line for entry in part.entries if entry.key == plain]
    place = max(stale | set(kept), default=part.entries[-1].line if part.entries else part.line)
    result = []
    for number, line in enumerate(lines, start=1):
        if number not in stale:
            result.append(line)
        if number == place:
            result.append(f"{key}={value}")
    return result
