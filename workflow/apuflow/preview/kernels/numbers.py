"""The numbers of a launch from which ``preview.kernels.traced`` interpolates what it does."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from apuflow.miopen.launch import definitions
from apuflow.preview.kernels.facts import Facts


def constants(facts: Facts) -> Mapping[str, float]:
    """Numeric definitions among the compile arguments, and whether the code is for gfx9.

    Launches of a kernel that agree in them run the same machine code.
    """
    found = {"vega": float(facts.vega)}
    for name, text in definitions(facts.arguments).items():
        try:
            found[name] = float(text)
        except ValueError:
            found[f"{name}={text}"] = 1.0
    return found


def numbers(facts: Facts) -> Mapping[str, float]:
    """By name: constants, scalar kernel arguments, grid, workgroup, and what the grid has in all."""
    found = {**constants(facts), **dict(facts.values)}
    found["workgroups"], found["wavefronts"] = float(facts.workgroups), float(facts.wavefronts)
    found["work-items"] = float(prod(facts.grid))
    for axis, items, group in zip("xyz", facts.grid, facts.workgroup, strict=True):
        found[f"grid {axis}"], found[f"workgroup {axis}"] = float(items), float(group)
    return found
