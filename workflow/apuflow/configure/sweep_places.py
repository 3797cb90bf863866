"""Keys of a sweep that are easily written at the wrong place."""

from __future__ import annotations

from apuflow.configure.base import ValueProblem

BESIDE = {
    "zip": "zip: [{num-compute-units: [4, 8], tcc-size: [256kB, 1MB]}]",
    "layers": "layers: [{n: 1, c: 64}, {n: 4, c: 16}]",
}
"""Keys that stand beside ``axes``, with an example of each."""


def refuse_places_as_axes(axes: object) -> object:
    """Refuse ``zip`` and ``layers`` below ``axes``."""
    for name in BESIDE:
        if isinstance(axes, dict) and name in axes:
            raise ValueProblem(
                f"{name} is no axis", remedy=f"write it beside axes, not below: {BESIDE[name]}"
            )
    return axes


def refuse_one_group(groups: object) -> object:
    """Refuse a group that is not in a list."""
    if isinstance(groups, dict):
        raise ValueProblem("zip is a list of groups", remedy=f"write {BESIDE['zip']}")
    return groups
