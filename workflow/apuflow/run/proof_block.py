"""What a whole block of gem5's statistics must satisfy: the same rows of like objects, and sums.

gem5 prints the same statistics of every object of a kind, apart from those that it leaves out while they are
zero: what one compute unit prints as 0, each of them prints. A page that the file lost takes such rows of one
object away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apuflow.run.proof_rows import Damage, Rows
from apuflow_analysis.counters.contradictions import Element, Lookup, find_contradictions
from apuflow_analysis.counters.contradictions import Rows as RelatedRows
from apuflow_analysis.counters.table import ACTIVE

_ACTIVE = ACTIVE.encode()
_UNITS = b"CUs"
_ZERO = b"0"
_ELEMENT = re.compile(
    rb"(system\.(?:ruby\.\w+?_cntrl|\w+?_tlb|\w+?_coalescer|(?:gpu_)?mem_ctrls))(\d*)\.(\S+)"
)
_WITHIN = re.compile(rb"(.*?\b(?:wavefronts|scalar_register_file|vector_register_file|rank))(\d+)\.(\S+)")
_EVENT = re.compile(rb"system\.ruby\.(\w+)_Controller\.(?:(\w+)\.)?(\w+?)(?:::total)?")
_CONTROLLERS: Mapping[bytes, tuple[str, ...]] = {
    b"TCP": ("ruby.tcp_cntrl",),
    b"TCC": ("ruby.tcc_cntrl",),
    b"SQC": ("ruby.sqc_cntrl", "ruby.scalar_cntrl"),
    b"Directory": ("ruby.dir_cntrl",),
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

Objects = Mapping[bytes, Mapping[bytes, bytes]]
"""Objects of a kind: their index as printed, and their rows by the name within the object."""


@dataclass(frozen=True)
class Block:
    """The rows of a complete block, by the objects that print them.

    Attributes:
        values: name to value, as printed.
        cells: number of cells of every row that holds several.
        shader: name of the GPU; None: there is none.
        arrays: objects of the kinds that a GPU consists of, by their name behind ``system.``, the compute
            units as ``CUs``.
    """

    values: Mapping[bytes, bytes]
    cells: Mapping[bytes, int]
    shader: bytes | None
    arrays: Mapping[str, Objects]


def read_block(rows: Rows) -> Block:
    """Check what only the whole block shows.

    Raises:
        Damage: rows are missing, or numbers contradict each other.
    """
    rows.close()
    shaders = [name.removesuffix(_ACTIVE) for name in rows.values if name.endswith(_ACTIVE)]
    if len(shaders) > 1:
        raise Damage(f"the block that ends here holds {len(shaders)} GPUs: {_text(b', '.join(shaders))}")
    shader = shaders[0] if shaders else None
    arrays = _arrays(rows.values, shader)
    for name, objects in arrays.items():
        _check_numbered(name, objects)
        _check_alike(name, objects)
    for kind in ("CUs", "mem_ctrls"):
        for first in list(arrays.get(kind, {}).values())[:1]:
            for name, objects in _inner(first).items():
                _check_alike(f"{kind}: {name}", objects)
    _check_lengths(rows, arrays)
    _check_events(rows.values)
    _check_relations(rows.values, shader, arrays)
    return Block(rows.values, rows.cells, shader, arrays)


def _check_relations(
    values: Mapping[bytes, bytes], shader: bytes | None, arrays: Mapping[str, Objects]
) -> None:
    """No rows contradict each other (``apuflow_analysis.counters.relations``)."""
    elements = {
        array: [Element(array + index.decode(), _lookup(rows)) for index, rows in objects.items()]
        for array, objects in arrays.items()
    }
    units = next(iter(arrays.get("CUs", {}).values()), {})
    rows = RelatedRows(
        (shader or b"").decode(),
        _lookup(values),
        lambda array: elements.get(array, ()),
        [name.decode() for name in units],
    )
    for broken in find_contradictions(rows):
        raise Damage(f"the rows of the block that ends here contradict each other: {broken}")


def _lookup(rows: Mapping[bytes, bytes]) -> Lookup:
    def number(name: str) -> float | None:
        value = rows.get(name.encode())
        return None if value is None else float(value)

    return number


def _arrays(
    values: Mapping[bytes, bytes], shader: bytes | None
) -> dict[str, dict[bytes, dict[bytes, bytes]]]:
    """The arrays of objects that the GPU consists of, by their name behind ``system.``; ``CUs`` the units."""
    arrays: dict[str, dict[bytes, dict[bytes, bytes]]] = {}
    prefix = (shader or b"") + b"." + _UNITS
    head, index, rows = b"\n", b"", dict[bytes, bytes]()
    for name, value in values.items():
        if name.startswith(head):
            rows[name[len(head) :]] = value
            continue
        if shader is not None and name.startswith(prefix):
            index = name[len(prefix) : name.index(b".", len(prefix))]
            key, head = _UNITS.decode(), prefix + index + b"."
        elif match := _ELEMENT.match(name):
            key, index, head = match[1].decode().removeprefix("system."), match[2], name[: match.start(3)]
        else:
            continue
        rows = arrays.setdefault(key, {}).setdefault(index, {})
        rows[name[len(head) :]] = value
    return arrays


def _inner(unit: Mapping[bytes, bytes]) -> dict[str, dict[bytes, dict[bytes, bytes]]]:
    arrays: dict[str, dict[bytes, dict[bytes, bytes]]] = {}
    for name, value in unit.items():
        if match := _WITHIN.fullmatch(name):
            arrays.setdefault(match[1].decode(), {}).setdefault(match[2], {})[match[3]] = value
    return arrays


def _check_numbered(name: str, objects: Objects) -> None:
    """gem5 numbers the elements of an array from 0, and does not number a single one."""
    expected = {b"%d" % number for number in range(len(objects))}
    if set(objects) not in (expected, {b""}):
        missing = sorted(expected - set(objects)) or sorted(objects)
        raise Damage(f"{name}{missing[0].decode()} is missing among {len(objects)} of its kind")


def _check_alike(name: str, objects: Objects) -> None:
    every = set[bytes]().union(*objects.values())
    for index, rows in objects.items():
        for row in every.difference(rows):
            base = row.partition(b"::")[0]
            samples = base + b"::samples"
            expected = samples if samples in every else row
            if expected in rows:
                continue
            if any(other.get(expected) == _ZERO for other in objects.values()):
                raise Damage(
                    f"{name}{index.decode()} lacks {_text(expected)}, which others of its kind print as 0"
                )


def _check_lengths(rows: Rows, arrays: Mapping[str, Objects]) -> None:
    """Arrays that belong together are equally long; each controller of a kind has a cell in its events."""
    lengths = {name: len(objects) for name, objects in arrays.items()}
    if "CUs" in lengths and lengths.get("ruby.tcp_cntrl", lengths["CUs"]) != lengths["CUs"]:
        raise Damage(f"it holds {lengths['CUs']} compute units and {lengths['ruby.tcp_cntrl']} TCPs")
    for one, other in _AS_MANY:
        if one in lengths and other in lengths and lengths[one] != lengths[other]:
            raise Damage(f"it holds {lengths[one]} {one} and {lengths[other]} {other}")
    for name, cells in rows.cells.items():
        event = _EVENT.fullmatch(name)
        kinds = _CONTROLLERS.get(event[1], ()) if event else ()
        expected = sum(lengths.get(kind, 0) for kind in kinds)
        if expected and cells != expected:
            raise Damage(f"{_text(name)} has {cells} cells for {expected} controllers")


def _check_events(values: Mapping[bytes, bytes]) -> None:
    """A controller counts each event once for all states and once for the state that it was in."""
    events: dict[tuple[bytes, bytes], float] = {}
    for name, value in values.items():
        if name.startswith(b"system.ruby.") and (match := _EVENT.fullmatch(name)):
            key = match[1], match[3]
            events[key] = events.get(key, 0.0) + (float(value) if match[2] is None else -float(value))
    for (controller, event), rest in events.items():
        if rest != 0:
            raise Damage(f"{_text(controller)}_Controller.{_text(event)} is not the sum of its states")


def _text(piece: bytes) -> str:
    return piece[:120].decode(errors="replace")
