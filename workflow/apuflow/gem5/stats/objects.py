"""The objects of a block of gem5's statistics, and what a whole block must satisfy.

gem5 prints the same statistics of every object of a kind, apart from those that it leaves out while they are
zero: what one compute unit prints as 0, each of them prints. A page that the file lost takes such rows of one
object away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apuflow.gem5.stats import contradictions
from apuflow.gem5.stats.contradictions import Element, find_contradictions
from apuflow.gem5.stats.rows import Damage, Rows, is_zero

ACTIVE = ".shaderActiveTicks"
"""End of the statistic that only the GPU has; before it is the shader's name."""
LAUNCHED = ".dispatcher.numKernelLaunched"
WAVEFRONTS = "completedWfs"
UNITS = "CUs"
"""The array of the compute units, whose names begin with the shader's and not with ``system``."""

_ELEMENT = re.compile(
    r"(system\.(?:ruby\.\w+?_cntrl|\w+?_tlb|\w+?_coalescer|(?:gpu_)?mem_ctrls))(\d*)\.(\S+)"
)
_WITHIN = re.compile(r"(.*?\b(?:wavefronts|scalar_register_file|vector_register_file|rank))(\d+)\.(\S+)")
_EVENT = re.compile(r"system\.ruby\.(\w+)_Controller\.(?:(\w+)\.)?(\w+?)(?:::total)?")
_CONTROLLERS: Mapping[str, tuple[str, ...]] = {
    "TCP": ("ruby.tcp_cntrl",),
    "TCC": ("ruby.tcc_cntrl",),
    "SQC": ("ruby.sqc_cntrl", "ruby.scalar_cntrl"),
    "Directory": ("ruby.dir_cntrl",),
}
_AS_MANY: tuple[tuple[str, str], ...] = (
    ("l1_tlb", "l1_coalescer"),
    ("ruby.dir_cntrl", "mem_ctrls"),
    ("ruby.sqc_cntrl", "sqc_tlb"),
    ("ruby.sqc_cntrl", "sqc_coalescer"),
    ("ruby.scalar_cntrl", "scalar_tlb"),
    ("ruby.scalar_cntrl", "scalar_coalescer"),
)
"""Arrays that apu_se.py makes equally long (configs/common/GPUTLBConfig.py)."""

Objects = Mapping[str, Mapping[str, float]]
"""Objects of a kind: their index as printed, and their rows by the name within the object."""


@dataclass(frozen=True)
class Machine:
    """The rows of a complete block, by the objects that print them.

    Attributes:
        rows: name to number.
        cells: number of cells of every row that holds several.
        shader: name of the GPU; None: there is none.
        arrays: objects of the kinds that a GPU consists of, by their name behind ``system.``, the compute
            units as ``CUs``.
    """

    rows: Mapping[str, float]
    cells: Mapping[str, int]
    shader: str | None
    arrays: Mapping[str, Objects]


def read_machine(rows: Rows) -> Machine:
    """Check what only the whole block shows.

    Raises:
        Damage: rows are missing, or numbers contradict each other.
    """
    numbers = rows.numbers
    shaders = [name.removesuffix(ACTIVE) for name in numbers if name.endswith(ACTIVE)]
    if len(shaders) > 1:
        raise Damage(f"the block that ends here holds {len(shaders)} GPUs: {', '.join(shaders)}")
    shader = shaders[0] if shaders else None
    cells = {rows.names[row]: len(rows.cell_values(row)) for row in rows.oneline}
    machine = Machine(numbers, cells, shader, arrays(numbers, shader))
    for name, objects in machine.arrays.items():
        _check_numbered(name, objects)
        _check_alike(name, objects)
    for kind in (UNITS, "mem_ctrls"):
        for first in list(machine.arrays.get(kind, {}).values())[:1]:
            for name, objects in _inner(first).items():
                _check_alike(f"{kind}: {name}", objects)
    _check_lengths(machine)
    _check_events(numbers)
    for broken in find_contradictions(_related(machine)):
        raise Damage(f"the rows of the block that ends here contradict each other: {broken}")
    return machine


def _related(machine: Machine) -> contradictions.Rows:
    elements = {
        array: [Element(array + index, rows.get) for index, rows in objects.items()]
        for array, objects in machine.arrays.items()
    }
    unit = next(iter(machine.arrays.get(UNITS, {}).values()), {})
    return contradictions.Rows(
        machine.shader or "", machine.rows.get, lambda array: elements.get(array, ()), list(unit)
    )


def arrays(rows: Mapping[str, float], shader: str | None) -> dict[str, dict[str, dict[str, float]]]:
    """The arrays of objects that the GPU consists of, by their name behind ``system.``; ``CUs`` the units."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    prefix = f"{shader}.{UNITS}"
    head, of_one = "\n", dict[str, float]()
    for name, value in rows.items():
        if name.startswith(head):
            of_one[name[len(head) :]] = value
            continue
        if shader is not None and name.startswith(prefix):
            key, index = UNITS, name[len(prefix) : name.index(".", len(prefix))]
            head = f"{prefix}{index}."
        elif match := _ELEMENT.match(name):
            key, index, head = match[1].removeprefix("system."), match[2], name[: match.start(3)]
        else:
            continue
        of_one = found.setdefault(key, {}).setdefault(index, {})
        of_one[name[len(head) :]] = value
    return found


def _inner(unit: Mapping[str, float]) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in unit.items():
        if match := _WITHIN.fullmatch(name):
            found.setdefault(match[1], {}).setdefault(match[2], {})[match[3]] = value
    return found


def _check_numbered(name: str, objects: Objects) -> None:
    """gem5 numbers the elements of an array from 0, and does not number a single one."""
    expected = {str(number) for number in range(len(objects))}
    if set(objects) not in (expected, {""}):
        missing = sorted(expected - set(objects)) or sorted(objects)
        raise Damage(f"{name}{missing[0]} is missing among {len(objects)} of its kind")


def _check_alike(name: str, objects: Objects) -> None:
    every = set[str]().union(*objects.values())
    for index, rows in objects.items():
        for row in every.difference(rows):
            samples = f"{row.partition('::')[0]}::samples"
            expected = samples if samples in every else row
            if expected not in rows and any(is_zero(other.get(expected, 1)) for other in objects.values()):
                raise Damage(f"{name}{index} lacks {expected}, which others of its kind print as 0")


def _check_lengths(machine: Machine) -> None:
    """Arrays that belong together are equally long; each controller of a kind has a cell in its events."""
    lengths = {name: len(objects) for name, objects in machine.arrays.items()}
    if UNITS in lengths and lengths.get("ruby.tcp_cntrl", lengths[UNITS]) != lengths[UNITS]:
        raise Damage(f"it holds {lengths[UNITS]} compute units and {lengths['ruby.tcp_cntrl']} TCPs")
    for one, other in _AS_MANY:
        if one in lengths and other in lengths and lengths[one] != lengths[other]:
            raise Damage(f"it holds {lengths[one]} {one} and {lengths[other]} {other}")
    for name, cells in machine.cells.items():
        event = _EVENT.fullmatch(name)
        kinds = _CONTROLLERS.get(event[1], ()) if event else ()
        expected = sum(lengths.get(kind, 0) for kind in kinds)
        if expected and cells != expected:
            raise Damage(f"{name} has {cells} cells for {expected} controllers")


def _check_events(rows: Mapping[str, float]) -> None:
    """A controller counts each event once for all states and once for the state that it was in."""
    events: dict[tuple[str, str], float] = {}
    for name, value in rows.items():
        if name.startswith("system.ruby.") and (match := _EVENT.fullmatch(name)):
            key = match[1], match[3]
            events[key] = events.get(key, 0.0) + (value if match[2] is None else -value)
    for (controller, event), rest in events.items():
        if rest != 0:
            raise Damage(f"{controller}_Controller.{event} is not the sum of its states")
