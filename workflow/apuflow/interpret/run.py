"""Runs launches of kernels: workgroups by the batch, wavefronts at the same instruction together."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from apuflow.core.errors import EngineError
from apuflow.core.grid import workgroups
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.blocks import Block, compile_block
from apuflow.interpret.encodings import Instruction, Program
from apuflow.interpret.image import Image, Start
from apuflow.interpret.native import Library, NativeProgram
from apuflow.interpret.polls import Poll, polls
from apuflow.interpret.pool import Pool
from apuflow.interpret.slices import data_only
from apuflow.interpret.state import LANES, Bits, Lds, Memory, Place, Watch, Waves
from apuflow.interpret.waits import Follower, Heed

Extent = tuple[int, int, int]
BATCH: Final = 256
"""Wavefronts that start together."""
LIMIT: Final = 2_000_000_000
"""Wavefront instructions of a launch."""
_ARGUMENT_BYTES: Final = 8192
_PACKET: Final = struct.Struct("<HHHHHHIIIIIQQ")
"""hsa_kernel_dispatch_packet_t (HSA Runtime Programmer's Reference Manual)."""
_SLOTS: Final = 4
"""Batches that have private memory at once."""


@dataclass(frozen=True)
class Value:
    """A kernel argument: bytes, or the address of a buffer plus an offset."""

    data: bytes = b""
    buffer: str | None = None
    offset: int = 0


@dataclass(frozen=True)
class Launch:
    """One kernel launch; grid and workgroup in work-items, ``lds``: bytes beside the kernel's own.

    Attributes:
        image: number of the code object.
        arguments: in order, each aligned to its size.
    """

    image: int
    kernel: str
    grid: Extent
    workgroup: Extent
    arguments: tuple[Value, ...]
    lds: int = 0


@dataclass
class Executed:
    """What a launch has executed.

    Attributes:
        instructions: how often each ran, in wavefronts.
        workgroups, wavefronts: that were started.
        waits: bytes from the kernel's first one to a loop in which wavefronts wait for other workgroups.
            None: there is none, or nobody heeds them.
    """

    instructions: Mapping[Instruction, int]
    workgroups: int
    wavefronts: int
    waits: int | None = None

    @property
    def total(self) -> int:
        """Wavefront instructions."""
        return sum(self.instructions.values())


def _image_bytes(image: Image) -> int:
    """Of its memory; instructions are fetched ahead of those that run."""
    return len(image.data) + 256


def _private_bytes(images: Iterable[Image]) -> int:
    """Private memory of all wavefronts that run at once."""
    private = max((start.private for image in images for start in image.kernels.values()), default=0)
    return -(-private // 4) * 4 * LANES * BATCH * _SLOTS


class Machine:
    """Memory with buffers and code objects, on which kernels run.

    Args:
        buffers: bytes of each.
        images: code objects.
        memory: where all of it goes; None: memory of its own.
        library: the compiled executor; None: NumPy executes everything.
        heed: what to do about launches whose wavefronts wait for other workgroups.
    """

    def __init__(
        self,
        buffers: Mapping[str, int],
        images: Sequence[Image],
        memory: Memory | None = None,
        library: Library | None = None,
        heed: Heed = "no",
    ) -> None:
        self._library, self.heed = library, heed
        self._native: dict[int, NativeProgram] = {}
        self.images = list(images)
        sizes = dict(buffers)
        for number, image in enumerate(images):
            sizes[f"code object {number}"] = _image_bytes(image)
        sizes["kernel arguments"] = _ARGUMENT_BYTES
        sizes["dispatch packet"] = 256
        if private := _private_bytes(images):
            sizes["private memory"] = private
        if memory is None:
            memory = Memory(sizes)
        else:
            for name, size in sizes.items():
                memory.add(name, size)
        self.memory = memory
        self.programs = [self._program(number) for number in range(len(images))]
        self._data_only: dict[tuple[int, str], frozenset[int]] = {}
        self._polls: dict[tuple[int, str], Mapping[int, Poll]] = {}

    def load(self, image: Image) -> Place:
        """One more code object, whose number is that of those before it; where it lies."""
        number = len(self.images)
        self.images.append(image)
        place = self.memory.add(f"code object {number}", _image_bytes(image))
        self.programs.append(self._program(number))
        private, present = _private_bytes([image]), self.memory.places.get("private memory")
        if private > (present.size if present else 0):
            if present:
                self.memory.remove(present.name)
            self.memory.add("private memory", private)
        return place

    def _program(self, number: int) -> Program:
        image, place = self.images[number], self.memory.places[f"code object {number}"]
        self.memory.view(place.name)[: len(image.data)] = np.frombuffer(image.data, np.uint8)
        for at, inside in image.relocations:
            self.memory.put_address(place.name, at, place.address + inside)
        words = np.frombuffer(image.data[: len(image.data) // 4 * 4], np.uint32).tolist()
        return Program(words, place.address, image.isa)

    def run(
        self,
        launch: Launch,
        *,
        watch: Watch | None = None,
        workgroups: Iterable[Extent] | None = None,
        limit: int = LIMIT,
        defects: Collection[str] = (),
        sliced: bool = False,
    ) -> Executed:
        """Run a kernel; memory holds what it wrote.

        Args:
            watch: is told of memory accesses.
            workgroups: their numbers, if not all of them run.
            limit: wavefront instructions after which a launch is taken for endless.
            defects: names of what a gem5 executes otherwise (:mod:`apuflow.interpret.as_gem5`).
            sliced: compute only what addresses and branches depend on (:meth:`data_only`).

        Raises:
            EngineError: an unknown instruction or kernel, an access outside of buffers, a launch without end.
            WaitsForOthers: its wavefronts wait for other workgroups, and such launches are to stop.
        """
        image = self.images[launch.image]
        if launch.kernel not in image.kernels:
            raise EngineError(
                f"the code object has no kernel {launch.kernel}",
                value=", ".join(sorted(image.kernels)) or "none",
                remedy="correct the launch",
            )
        start = image.kernels[launch.kernel]
        self._place_arguments(launch, start)
        if workgroups is None:
            workgroups = _workgroups(launch)
        skipped = self.data_only(launch) if sliced else frozenset[int]()
        session = Session(self, launch, start, watch, limit, frozenset(defects), skipped)
        try:
            return session.run(workgroups)
        except EngineError as error:
            error.message = f"{launch.kernel}: {error.message}"
            raise

    def data_only(self, launch: Launch) -> frozenset[int]:
        """Addresses of the kernel's instructions on whose results no address and no branch depends."""
        key = launch.image, launch.kernel
        if key not in self._data_only:
            program, start = self.programs[launch.image], self.images[launch.image].kernels[launch.kernel]
            self._data_only[key] = data_only(program, _entry(program, start), start.accumulation)
        return self._data_only[key]

    def polls(self, launch: Launch) -> Mapping[int, Poll]:
        """Where the kernel's wavefronts may wait for other workgroups; nowhere if nobody heeds it."""
        if self.heed == "no":
            return {}
        key = launch.image, launch.kernel
        if key not in self._polls:
            program, start = self.programs[launch.image], self.images[launch.image].kernels[launch.kernel]
            self._polls[key] = polls(program, _entry(program, start), start.accumulation)
        return self._polls[key]

    def native(self, image: int) -> NativeProgram | None:
        """The blocks of a code object that the compiled executor knows; None: there is none."""
        if self._library is None:
            return None
        if image not in self._native:
            self._native[image] = NativeProgram(self._library, self.programs[image])
        return self._native[image]

    def _place_arguments(self, launch: Launch, start: Start) -> None:
        block = bytearray(_ARGUMENT_BYTES)
        end = 0
        for value in launch.arguments:
            data = value.data
            if value.buffer is not None:
                data = struct.pack("<Q", self.memory.places[value.buffer].address + value.offset)
            size = max(1, len(data))
            end = -(-end // size) * size if size in (1, 2, 4, 8) else end
            block[end : end + len(data)] = data
            end += len(data)
        self.memory.view("kernel arguments")[:] = np.frombuffer(bytes(block), np.uint8)
        sizes = (start.private, start.lds + launch.lds)
        address = self.memory.places["kernel arguments"].address
        packet = _PACKET.pack(0, 3, *launch.workgroup, 0, *launch.grid, *sizes, 0, address)
        self.memory.view("dispatch packet")[: len(packet)] = np.frombuffer(packet, np.uint8)


def _entry(program: Program, start: Start) -> int:
    """Address of a kernel's first instruction."""
    return program.address + start.entry + (256 if start.preload else 0)


def _workgroups(launch: Launch) -> Iterator[Extent]:
    across, down, deep = workgroups(launch.grid, launch.workgroup)
    for z in range(deep):
        for y in range(down):
            for x in range(across):
                yield x, y, z


@dataclass
class Session:
    """One launch that runs."""

    machine: Machine
    launch: Launch
    start: Start
    watch: Watch | None
    limit: int
    defects: frozenset[str]
    data_only: frozenset[int]
    blocks: dict[int, Block] = field(default_factory=dict)
    executed: int = 0
    groups: int = 0
    waves: int = 0

    @property
    def all_groups(self) -> int:
        """Workgroups of the launch."""
        return math.prod(workgroups(self.launch.grid, self.launch.workgroup))

    def run(self, workgroups: Iterable[Extent]) -> Executed:
        """All workgroups, batch after batch."""
        image = self.machine.images[self.launch.image]
        program = self.machine.programs[self.launch.image]
        plain = not (self.watch or self.defects or self.data_only)
        native = self.machine.native(self.launch.image) if plain else None
        follower = self._follower()
        if native:
            native.executions()
            native.polls = follower.numbered if follower else {}
        batches = self._batches(iter(workgroups), image.isa)
        pool = Pool(self, program, _entry(program, self.start), batches, native)
        with np.errstate(all="ignore"):
            pool.run()
        ran = native.executions() if native else [(each, each.executions) for each in self.blocks.values()]
        counts: dict[Instruction, int] = {}
        for block, times in ran:
            for found in block.instructions if times else ():
                counts[found] = counts.get(found, 0) + times
        return Executed(counts, self.groups, self.waves, follower.loop if follower else None)

    def _follower(self) -> Follower | None:
        """What looks for wavefronts that wait for other workgroups, where some may."""
        found = self.machine.polls(self.launch)
        if not found:
            return None
        machine, kernel = self.machine, self.launch.kernel
        follower = Follower(
            machine.memory,
            kernel,
            machine.programs[self.launch.image].address + self.start.entry,
            found,
            left_out=self.data_only,
            inner=self.watch,
            stops=machine.heed == "stop",
        )
        self.watch = follower
        return follower

    def _batches(self, workgroups: Iterator[Extent], isa: str) -> Iterator[Waves]:
        per_group = -(-math.prod(self.launch.workgroup) // LANES)
        size = self.start.lds + self.launch.lds
        count = max(1, BATCH // per_group)
        while True:
            chosen = [each for _, each in zip(range(count), workgroups, strict=False)]
            if not chosen:
                return
            yield self._started(np.array(chosen, np.int64), per_group, Lds(len(chosen), size), isa)

    def _started(self, numbers: Array, per_group: int, lds: Lds, isa: str) -> Waves:
        """Wavefronts of these workgroups; at the grid's end some have no work-items, and do not start."""
        launch, start, memory = self.launch, self.start, self.machine.memory
        groups = len(numbers)
        group = np.repeat(np.arange(groups), per_group)
        # A partial workgroup has its work-items without gaps (gem5 ``Wavefront::computeActualWgSz``).
        sizes = np.minimum(launch.workgroup, np.array(launch.grid) - numbers * launch.workgroup)
        x, y, z = (sizes[group, axis][:, None] for axis in range(3))
        item = np.tile(np.arange(per_group * LANES).reshape(per_group, LANES), (groups, 1))
        items = (item % x, item // x % y, item // (x * y))
        active = items[2] < z
        begins = active.any(1)
        active, group = active[begins], group[begins]
        items = (items[0][begins], items[1][begins], items[2][begins])
        lds.numbers = [tuple(map(int, each)) for each in numbers]
        across, down, _ = workgroups(launch.grid, launch.workgroup)
        lds.marks = (numbers @ np.array([1, across, across * down]) + 1).astype(np.int32)
        lds.live = np.bincount(group, minlength=groups)
        count = len(group)
        s = np.zeros((128, count), np.uint32)
        v = np.zeros((start.registers + 4, count, LANES), np.uint32)
        base = memory.places["private memory"].address if start.private else 0
        slot = self.waves // BATCH % _SLOTS * BATCH + np.arange(count, dtype=np.int64)
        private = base + slot * (-(-start.private // 4) * 4 * LANES)
        started = self.waves + np.arange(count, dtype=np.int64)
        self._set_scalars(s, numbers[group], private, base)
        self.groups += groups
        self.waves += count
        if isa in ("gfx90a", "gfx940"):
            v[0] = items[0] | items[1] << 10 | items[2] << 20
        else:
            for axis in range((start.settings >> 11 & 3) + 1):
                v[axis] = items[axis]
        return Waves(
            s,
            v,
            active,
            np.zeros(count, np.bool_),
            group,
            started,
            private,
            memory,
            lds,
            start.accumulation,
            self.watch,
        )

    def _set_scalars(self, s: Bits, numbers: Array, private: Array, base: int) -> None:
        """Initial kernel execution state: pointers, arguments, numbers of the workgroup."""
        memory, start = self.machine.memory, self.start
        arguments = memory.places["kernel arguments"].address
        packet = memory.places["dispatch packet"].address
        size = memory.places["private memory"].size if start.private else 0
        pointers = (
            (base & 0xFFFFFFFF, base >> 32 | 1 << 31, size, 1 << 23 | 3 << 21 | 1 << 19),
            (packet & 0xFFFFFFFF, packet >> 32),
            (packet & 0xFFFFFFFF, packet >> 32),
            (arguments & 0xFFFFFFFF, arguments >> 32),
            (0, 0),
            (0, 0),
            (start.private,),
        )
        place = 0
        for bit, words in enumerate(pointers):
            if start.properties >> bit & 1:
                for word in words:
                    s[place] = word
                    place += 1
        if start.preload:
            loaded = memory.view("kernel arguments").view(np.uint32)[: start.preload]
            s[place : place + start.preload] = loaded[:, None]
            place += start.preload
        for axis in range(3):
            if start.settings >> 7 + axis & 1:
                s[place] = numbers[:, axis]
                place += 1
        place += start.settings >> 10 & 1
        if start.settings & 1:
            s[place] = private - base

    def block(self, program: Program, address: int) -> Block:
        """The block there."""
        if address not in self.blocks:
            self.blocks[address] = compile_block(program, address, self.defects, self.data_only)
        return self.blocks[address]
