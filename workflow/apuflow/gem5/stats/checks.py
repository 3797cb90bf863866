"""What a block of statistics must satisfy: unique names, sums, alike objects, and the rows that readers need.

A page that a file lost shows: a row is put together from two others, or rows are missing or come twice. gem5
prints the same statistics of every object of a kind, apart from those that it leaves out while they are zero:
what one compute unit prints as 0, each of them prints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apuflow.gem5.stats.blocks import Fault
from apuflow.gem5.stats.contradictions import LARGEST, Lookup, View, find_contradictions, matching
from apuflow.gem5.stats.rows import LAYOUT, MOMENTS, Damage, Rows, is_zero

ACTIVE = ".shaderActiveTicks"
"""End of the statistic that only the GPU has; before it is the shader's name."""
LAUNCHED = ".dispatcher.numKernelLaunched"
WAVEFRONTS = "completedWfs"
UNITS = "CUs"
"""The array of the compute units, whose names begin with the shader's and not with ``system``."""

_NO_BUCKETS = frozenset((*MOMENTS, *LAYOUT))
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
_EQUALLY_LONG: tuple[tuple[str, str], ...] = (
    (UNITS, "ruby.tcp_cntrl"),
    ("l1_tlb", "l1_coalescer"),
    ("ruby.dir_cntrl", "mem_ctrls"),
    ("ruby.sqc_cntrl", "sqc_tlb"),
    ("ruby.sqc_cntrl", "sqc_coalescer"),
    ("ruby.scalar_cntrl", "scalar_tlb"),
    ("ruby.scalar_cntrl", "scalar_coalescer"),
)
"""Arrays of apu_se.py (configs/common/GPUTLBConfig.py)."""
_SAME_ELEMENTS: tuple[tuple[str, str], ...] = (
    ("ScheduleStage.rdyListNotEmpty", "ScheduleStage.rdyListEmpty"),
    ("ExecStage.numCyclesWithInstrTypeIssued", "ExecStage.numCyclesWithNoInstrTypeIssued"),
)
"""Vectors of a compute unit."""

Objects = dict[str, dict[str, float]]
"""Objects of a kind: their index as printed, and their rows by the name within the object."""


@dataclass(frozen=True)
class RequiredRow:
    """A row that readers of the statistics rely on.

    Attributes:
        names: its names in different releases, as ``View.find`` has them; a ``*`` at the end of a row of an
            array stands for anything.
        optional: gem5 leaves it out while it is zero.
    """

    names: tuple[str, ...]
    optional: bool = False


def first_fault(rows: Rows) -> Fault | None:
    """The first line that gem5 cannot have written there (behind a wrong vector); None: there is none."""
    return min((*rows.faults[:1], *_doubled(rows), *_wrong_sums(rows)), default=None)


def _doubled(rows: Rows) -> Iterator[Fault]:
    """The first row whose name came before. A row with a number and one with cells can share their name."""
    if len(rows.numbers) + len({rows.names[row] for row in rows.oneline}) == len(rows):
        return
    seen: set[tuple[str, bool]] = set()
    for row, name in enumerate(rows.names):
        if (name, row in rows.oneline) in seen:
            yield Fault(rows.line(row), "its name came before")
            return
        seen.add((name, row in rows.oneline))


def _wrong_sums(rows: Rows) -> Iterator[Fault]:
    """Vectors and distributions that do not add up, at the line behind each."""
    names, numbers, count = rows.names, rows.values.tolist(), len(rows)
    base, last = "", -1
    parts: dict[str, float] = {}
    cells: Sequence[float] | None = None
    for row in (*(row for row, name in enumerate(names) if "::" in name or row in rows.oneline), count):
        name, _, part = names[row].partition("::") if row < count else ("", "", "")
        if name != base or row != last + 1:
            try:
                _check_sum(base, parts, cells)
            except Damage as damage:
                yield Fault(rows.line(last) + 1, str(damage))
            base, parts, cells = name, {}, None
        last = row
        if part:
            parts[part] = numbers[row]
        elif row in rows.oneline:
            cells = rows.cell_values(row)


def _check_sum(base: str, parts: Mapping[str, float], cells: Sequence[float] | None) -> None:
    """The rows of one vector or distribution are all there and add up."""
    if "samples" in parts:
        _check_distribution(base, parts, cells)
    elif not parts.keys().isdisjoint(("stdev", "underflows", "bucket_size")):
        raise Damage(f"{base}::samples is missing before it")
    elif cells is not None:
        if "total" not in parts:
            raise Damage(f"{base}::total is missing before it")
        if sum(cells) != parts["total"]:
            raise Damage(f"the cells of {base}, before it, add up to {sum(cells):.0f}, not to its total")
    elif any(map(is_zero, parts.values())) and all(map(str.isdigit, parts)):
        # a vector that prints elements of 0 prints all of them
        for number, part in enumerate(parts):
            if part != str(number):
                raise Damage(f"{base}::{number} is missing before it")


def _check_distribution(base: str, parts: Mapping[str, float], cells: Sequence[float] | None) -> None:
    """Every sample is in a bucket: gem5 counts it there when it counts it."""
    buckets = [value for part, value in parts.items() if part not in _NO_BUCKETS]
    if "bucket_size" in parts:
        if cells is None:
            raise Damage(f"the row of the buckets of {base} is missing before it")
        width = parts.get("max_bucket", 0) - parts.get("min_bucket", 0) + 1
        size = parts["bucket_size"]
        expected = math.ceil(width / size) if size > 0 and math.isfinite(width) else "none without a size"
        if len(cells) != expected:
            raise Damage(f"{base}, before it, has {len(cells)} buckets instead of {expected}")
    if not buckets and cells is None and "total" not in parts:
        return  # an average: it keeps no buckets
    counted, samples, total = sum(buckets) + sum(cells or ()), parts["samples"], parts.get("total")
    if counted != samples or total != samples:
        raise Damage(
            f"the buckets of {base}, before it, hold {counted:.0f} of {samples:.0f} samples,"
            f" its total is {'missing' if total is None else f'{total:.0f}'}"
        )


def check_block(rows: Rows, required: Sequence[RequiredRow]) -> None:
    """Check what only the whole block shows, and find every row that is relied on.

    Raises:
        Damage: rows are missing, hold what no counter can hold, or contradict each other.
    """
    numbers = rows.numbers
    shaders = [name.removesuffix(ACTIVE) for name in numbers if name.endswith(ACTIVE)]
    if len(shaders) > 1:
        raise Damage(f"the block that ends here holds {len(shaders)} GPUs: {', '.join(shaders)}")
    shader = shaders[0] if shaders else None
    found = arrays(numbers, shader)
    for name, objects in found.items():
        _check_numbers(name, objects)
        _check_alike(name, objects)
    for kind in (UNITS, "mem_ctrls"):
        for name, objects in _inner(_first(found, kind)).items():
            _check_alike(f"{kind}: {name}", objects)
    _check_lengths(rows, {name: len(objects) for name, objects in found.items()})
    _check_events(numbers)
    elements: dict[str, list[tuple[str, Lookup]]] = {}
    for array, objects in found.items():
        prefix = f"{shader if array == UNITS else 'system'}.{array}"
        elements[array] = [(prefix + index, of_one.get) for index, of_one in objects.items()]
    view = View(shader or "", numbers.get, lambda name: elements.get(name, ()), [*_first(found, UNITS)])
    for broken in find_contradictions(view):
        raise Damage(f"the rows of the block that ends here contradict each other: {broken}")
    if required and shader is None:
        raise Damage(f"the block that ends here holds no GPU: no row ends in {ACTIVE}")
    for row in required:
        _check_row(row, numbers, found, view)
    unit = _first(found, UNITS)
    for pair in _SAME_ELEMENTS if required else ():
        first, second = ({name.partition("::")[2] for name in matching(f"{one}::*", unit)} for one in pair)
        if first != second:
            lost = min(first ^ second)
            vector = pair[0] if lost not in first else pair[1]
            raise Damage(f"in the block that ends here a compute unit has no {vector}::{lost}")


def arrays(rows: Mapping[str, float], shader: str | None) -> dict[str, Objects]:
    """The arrays of objects that the GPU consists of, by their name behind ``system.``; ``CUs`` the units."""
    found: dict[str, Objects] = {}
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


def _first(found: Mapping[str, Objects], kind: str) -> Mapping[str, float]:
    """The rows of the first object of a kind."""
    return next(iter(found.get(kind, {}).values()), {})


def _inner(unit: Mapping[str, float]) -> dict[str, Objects]:
    found: dict[str, Objects] = {}
    for name, value in unit.items():
        if match := _WITHIN.fullmatch(name):
            found.setdefault(match[1], {}).setdefault(match[2], {})[match[3]] = value
    return found


def _check_numbers(name: str, objects: Objects) -> None:
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


def _check_lengths(rows: Rows, lengths: Mapping[str, int]) -> None:
    """Arrays that belong together are equally long; each controller of a kind has a cell in its events."""
    for one, other in _EQUALLY_LONG:
        if one in lengths and other in lengths and lengths[one] != lengths[other]:
            raise Damage(f"it holds {lengths[one]} {one} and {lengths[other]} {other}")
    for row in sorted(rows.oneline):
        if event := _EVENT.fullmatch(rows.names[row]):
            expected = sum(lengths.get(kind, 0) for kind in _CONTROLLERS.get(event[1], ()))
            cells = len(rows.cell_values(row)) if expected else 0
            if cells != expected:
                raise Damage(f"{event[0]} has {cells} cells for {expected} controllers")


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


def _check_row(
    required: RequiredRow, numbers: Mapping[str, float], found: Mapping[str, Objects], view: View
) -> None:
    lacking = []
    for pattern in required.names:
        rows = _find(pattern, numbers, found, view) or [(pattern, None)]
        lacking += [name for name, value in rows if value is None][:1]
        for name, value in rows:
            if value is not None:
                _check_number(name, value, numbers)
    if len(lacking) == len(required.names) and not required.optional:
        raise Damage(f"the block that ends here has no {lacking[0]}")
    for pattern in required.names:
        if pattern.endswith("::total"):
            _check_totals(pattern, found)


def _find(
    pattern: str, numbers: Mapping[str, float], found: Mapping[str, Objects], view: View
) -> list[tuple[str, float | None]]:
    """The rows that a pattern names, with their numbers; None: the row is not there."""
    if pattern.endswith(LAUNCHED):
        launched = next((name for name in numbers if name.endswith(LAUNCHED)), None)
        return [] if launched is None else [(launched, numbers[launched])]
    array, _, rest = pattern.partition("*.")
    names = matching(rest, _first(found, array)) if "*" in rest else ()
    patterns = [f"{array}*.{name}" for name in names] or [pattern]
    return [row for each in patterns for row in view.find(each)]


def _check_number(name: str, value: float, numbers: Mapping[str, float]) -> None:
    """A counter holds a number that it can have reached; a mean is nan where there are no samples."""
    if name.endswith("::mean") and numbers.get(f"{name.removesuffix('mean')}samples") == 0:
        return
    if not 0 <= value <= LARGEST:
        raise Damage(f"in the block that ends here {name} is {value:.17g}: no counter holds that")


def _check_totals(pattern: str, found: Mapping[str, Objects]) -> None:
    """The elements of a vector add up to its total."""
    array, _, total = pattern.partition("*.")
    base = total.removesuffix("total")
    for index, rows in found.get(array, {}).items():
        parts = sum(value for name, value in rows.items() if name.startswith(base) and name != total)
        if parts != rows.get(total, 0):
            raise Damage(
                f"in the block that ends here the rows {array}{index}.{base}... "
                f"add up to {parts:.0f}, not to their total"
            )
