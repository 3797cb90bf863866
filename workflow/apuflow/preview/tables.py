"""Launches as columns: the model's formulas are evaluated for all launches at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from apuflow.core.grid import resident_workgroups
from apuflow.preview.columns import Numbered, Rows, by_identity, spread, together
from apuflow.preview.instructions import Counts
from apuflow.preview.machine import LDS_BUS, WRITES_PER_SWITCH, Dram, GpuModel, Machines
from apuflow.preview.profile import Adders, Profile, Stream, Tiles
from apuflow.preview.step import Found, Left, Step

Array: TypeAlias = NDArray[Any]
T = TypeVar("T")
Row = TypeVar("Row")

MANY = 1000
"""Rows for which it is worth while to look whether all have one value."""
NO_TILES = Tiles(1, 0.0, 0.0, 0.0, 0.0, 0)
NO_ADDERS = Adders(1.0, 1.0, 1.0, 0.0, 0.0)
HOLDS = {
    "simds": "simds",
    "slots": "slots",
    "barrier_slots": "barrier_slots",
    "unit_lds_bytes": "lds_bytes",
    "simd_registers": "vgprs",
    "register_block": "register_block",
}
"""Of ``resident_workgroups``, the arguments that a machine decides, and its columns."""


class _Objects:
    """Different objects of one class, and their attributes, each read when it is asked for first."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self.objects = objects
        self.columns: dict[str, Array] = {}
        self.alike: dict[str, bool] = {}
        self.tables: dict[str, Table[Any]] = {}

    @cached_property
    def _fields(self) -> dict[str, Sequence[Any]]:
        """All fields of named tuples: to read them together takes a fifth of the time."""
        names = getattr(self.objects[0], "_fields", ()) if self.objects else ()
        return dict(zip(names, zip(*self.objects, strict=True), strict=True)) if names else {}

    def values(self, name: str) -> Sequence[Any]:
        return self._fields.get(name) or list(map(attrgetter(name), self.objects))

    def column(self, name: str) -> Array:
        if name not in self.columns:
            self.columns[name] = _array(self.values(name))
        return self.columns[name]

    def of_rows(self, name: str, rows: Rows) -> Array:
        """The column of some rows. Where all objects have one value, that stands once for many rows."""
        column = self.column(name)
        if len(rows) < MANY:
            return column[rows]
        if name not in self.alike:
            self.alike[name] = bool((column == column[0]).all())
        return np.broadcast_to(column[0], len(rows)) if self.alike[name] else column[rows]


def _array(values: Sequence[Any]) -> Array:
    """A column of these values. Most objects have the default of most fields: one value is quick to copy."""
    if not values:
        return np.array(values, dtype=np.int64)  # of any type: flags, counts and sums work with whole numbers
    if values[1:] == values[:-1]:
        return np.full(len(values), values[0])
    return np.array(values)


class Table(Generic[Row]):
    """Objects as rows, their attributes as columns: ``table.name`` has that attribute of each of them.

    What several rows share is read once. ``tests/mypy_columns.py`` has mypy check the names.
    """

    def __init__(self, objects: _Objects, rows: Rows) -> None:
        self._objects = objects
        self._rows = rows

    @classmethod
    def of(cls, objects: Sequence[Row]) -> Self:
        """A row for each object."""
        return cls.numbered(by_identity(objects))

    @classmethod
    def numbered(cls, objects: Numbered[Row]) -> Self:
        """Rows that are numbered already."""
        return cls(_Objects(objects.different), objects.rows)

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._objects.of_rows(name, self._rows)
        self.__dict__[name] = found
        return found

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Array) -> Self:
        """Some of the rows, by number or as flags."""
        return type(self)(self._objects, self._rows[rows])

    def map(self, function: Callable[[Row], T]) -> Numbered[T]:
        """What a function says of the object of each row."""
        return Numbered(list(map(function, self._objects.objects)), self._rows)

    def inner(self, name: str, missing: object = None) -> Table[Any]:
        """An attribute that is an object itself, as a table; ``missing`` where it is None."""
        known = self._objects.tables
        if name not in known:
            values = self._objects.values(name)
            known[name] = Table.of([missing if value is None else value for value in values])
        return known[name][self._rows]

    def each(self, name: str) -> tuple[Table[Any], Rows]:
        """An attribute that is a sequence of objects: those of all rows, and the row of each."""
        of_one: Sequence[Sequence[object]] = self._objects.values(name)
        counts = np.array([len(objects) for objects in of_one], dtype=np.intp)
        row, place = spread(counts, self._rows)
        return Table.of(list(chain.from_iterable(of_one)))[place], row


class Gpus(Table[GpuModel]):
    """Machines as rows (``GpuModel``), and what follows from several of their columns."""

    @classmethod
    def built(cls, machines: Machines) -> Self:
        """Those that were asked for."""
        fields = _Objects(())
        fields.columns = machines.numbers
        fields.tables = {"dram": Table.numbered(machines.drams)}
        return cls(fields, machines.rows)

    @cached_property
    def slots(self) -> Array:
        """Wavefront slots of a compute unit."""
        slots: Array = self.simds * self.slots_per_simd
        return slots

    @cached_property
    def page_walk_cycles(self) -> Array:
        """GPU cycles of a translation that no TLB has."""
        cycles: Array = self.l1_tlb_cycles + self.l2_tlb_cycles + self.l3_tlb_cycles + self.walk_cycles + 3
        return cycles

    @cached_property
    def dram(self) -> Table[Dram]:
        """One channel of each."""
        return self.inner("dram")

    def link_ns(self, size: float) -> Array:
        """ns that a message of ``size`` bytes takes of a link."""
        return size / self.link_bytes * self.ruby_ns

    def lds_cycles(self, conflicts: Array) -> Array:
        """GPU cycles of an LDS access of which ``conflicts`` follow the first one, in its banks."""
        return LDS_BUS + (1.0 + conflicts) * self.lds_penalty

    def busy_ns(self, reads: Array, writes: Array, mixed: Array | bool = False) -> Array:
        """Bus time of a channel for a mix of bursts of 64 bytes: transfers, refresh and turnarounds.

        The bus turns to writes and back once for each batch of ``WRITES_PER_SWITCH`` writes. Where loads and
        stores are ``mixed`` all the time, there is always a read whose row opens meanwhile: the runs of gem5
        that keep the DRAM busiest take 6 to 13 ns for both turns.
        """
        dram = self.dram
        refresh = 1.0 + dram.refresh_ns / dram.refresh_interval_ns
        turnaround = dram.read_to_write_ns + dram.write_to_read_ns
        turnaround = turnaround + np.where(mixed, 0.0, dram.cl_ns + dram.burst_ns)
        return (reads + writes) * dram.burst_ns * refresh + writes / WRITES_PER_SWITCH * turnaround


class Launches:
    """Launches on their machines.

    Attributes:
        profiles, counts, found, machines: what each launch does, its instructions, what it finds (``Found``),
            the GPU it runs on.
        accesses: all their streams.
    """

    def __init__(self, profiles: Table[Profile], found: Table[Found], machines: Gpus) -> None:
        self.profiles = profiles
        self.counts: Table[Counts] = profiles.inner("counts")
        self.found = found
        self.machines = machines
        streams, owner = profiles.each("streams")
        self.accesses = Accesses(self, streams, found.each("streams")[0], owner)

    @classmethod
    def of(cls, steps: Sequence[Step], machines: Sequence[GpuModel]) -> Self:
        """One of each step."""
        profiles, found = Table.of([step.profile for step in steps]), Table.of([step.found for step in steps])
        return cls(profiles, found, Gpus.of(machines))

    def __len__(self) -> int:
        return len(self.profiles)

    @cached_property
    def loads(self) -> Accesses:
        """The streams that load."""
        return self.accesses[self.accesses.streams.kind == "load"]

    @cached_property
    def stores(self) -> Accesses:
        """The streams that store."""
        return self.accesses[self.accesses.streams.kind == "store"]

    @cached_property
    def used(self) -> Array:
        """Compute units at work."""
        return np.minimum(self.machines.compute_units, self.profiles.workgroups)

    @cached_property
    def busiest(self) -> Array:
        """Workgroups of the busiest one: they go round robin (``Shader::dispatchWorkgroups``)."""
        return -(-self.profiles.workgroups // self.used)

    @cached_property
    def sharing(self) -> Array:
        """Workgroups that touch the same page, the most of any stream."""
        return self.accesses.most(self.accesses.streams.sharing)

    @cached_property
    def fitting(self) -> Array:
        """Workgroups that a compute unit can hold at once."""
        profiles, machines = self.profiles, self.machines
        needs = [profiles.waves_per_group, profiles.lds_bytes, profiles.vgprs]
        has = [getattr(machines, name) for name in HOLDS.values()]
        first, like = together(needs + has, len(self))
        rows = zip(*(column[first].tolist() for column in needs + has), strict=True)
        fitting = [
            resident_workgroups(*row[: len(needs)], **dict(zip(HOLDS, row[len(needs) :], strict=True)))
            for row in rows
        ]
        return np.array(fitting, dtype=np.int64)[like]

    @cached_property
    def resident(self) -> Array:
        """Workgroups that the busiest one holds at once."""
        return np.minimum(self.fitting, self.busiest)


class Accesses:
    """Streams, those of one launch after the other, and columns of their launches with an element for each.

    Attributes:
        launches: all of them. owner: of each stream, its launch.
        streams, tiles, profiles, counts, machines: as rows; a stream without tiles has ``NO_TILES``.
        left: what each finds of its buffer (``Left``).
    """

    def __init__(self, launches: Launches, streams: Table[Stream], left: Table[Left], owner: Rows) -> None:
        self.launches = launches
        self.streams = streams
        self.left = left
        self.owner = owner

    def __getitem__(self, rows: Array) -> Accesses:
        """Some of the streams, by number or as flags."""
        return Accesses(self.launches, self.streams[rows], self.left[rows], self.owner[rows])

    @cached_property
    def tiles(self) -> Table[Tiles]:
        """What workgroups in step share."""
        return self.streams.inner("tiles", NO_TILES)

    @cached_property
    def profiles(self) -> Table[Profile]:
        """What the launch of each does."""
        return self.launches.profiles[self.owner]

    @cached_property
    def counts(self) -> Table[Counts]:
        """The instructions of its launch."""
        return self.launches.counts[self.owner]

    @cached_property
    def machines(self) -> Gpus:
        """The GPU of its launch."""
        return self.launches.machines[self.owner]

    @cached_property
    def pages(self) -> Array:
        """Their pages, where these are not walked the new ones."""
        return np.minimum(self.streams.pages, self.left.new_pages)

    @cached_property
    def cold_pages(self) -> Array:
        """Pages that are walked."""
        return np.where(self.left.walked, 0.0, self.pages)

    @cached_property
    def used(self) -> Array:
        """Compute units at work."""
        return self.launches.used[self.owner]

    @cached_property
    def busiest(self) -> Array:
        """Workgroups of the busiest one."""
        return self.launches.busiest[self.owner]

    @cached_property
    def resident(self) -> Array:
        """Workgroups that it holds at once."""
        return self.launches.resident[self.owner]

    @cached_property
    def running(self) -> Array:
        """Workgroups that run at a time."""
        return self.used * self.resident

    def sum(self, values: Array) -> Array:
        """The sum over the streams of each launch: an element for each launch."""
        return np.bincount(self.owner, weights=values, minlength=len(self.launches))

    def most(self, values: Array) -> Array:
        """The largest over the streams of each launch; 0 where it has none."""
        found = np.zeros(len(self.launches))
        np.maximum.at(found, self.owner, values)
        return found
