"""Write a network as ``.dnnmark`` text."""

from __future__ import annotations

from apuflow.dnnmark.keys import DIMENSIONS, LAYER_KEYS, Key, Value
from apuflow.dnnmark.model import Layer, Network
from apuflow.dnnmark.sections import GENERAL


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
