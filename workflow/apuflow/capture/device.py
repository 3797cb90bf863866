"""The GPU of a program that is captured: answers its requests, executes its launches, keeps the journal."""

from __future__ import annotations

import mmap
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from apuflow.capture.asked import LARGEST_WORKGROUP, Asked, check_kernel, parameter_kind, read_asked
from apuflow.capture.bundle import code_objects
from apuflow.capture.journal import Address, Allocation, Bytes, Journal, Launched, MemoryKind, Module
from apuflow.capture.opencl import build_program
from apuflow.capture.protocol import (
    ADDRESS,
    ALLOCATE,
    KERNEL,
    LAUNCH,
    MODULE,
    MOST_PARAMETERS,
    PARAMETER,
    PLACE,
    PROGRAM,
    PROPERTIES,
    Request,
    Status,
)
from apuflow.capture.selection import Choice, Selection
from apuflow.capture.snapshots import Owner, Pointer, Snapshots
from apuflow.capture.source_lines import named_lines
from apuflow.core.errors import EngineError
from apuflow.core.gpus import Gpu
from apuflow.interpret.image import load_image
from apuflow.interpret.native import Library
from apuflow.interpret.run import Launch, Machine, Value
from apuflow.interpret.state import Memory, OutOfBounds, Place
from apuflow.kernels.metadata import LDS_POINTER, Kernel, find_kernel, read_kernels
from apuflow.miopen import elf

BASE: Final = 0x4D3A_8000_0000
"""Address of the arena in the program and on the GPU: nothing else of a process lies there, and data rarely
looks like an address in it."""
BYTES: Final = 1 << 38
"""Of addresses, of which each is given out once; memory is taken where it is written."""
CLOCK_KHZ: Final = 1_000_000
_KINDS: Final[tuple[MemoryKind, ...]] = ("device", "host", "managed")


class Enough(Exception):
    """As many launches are recorded as were wanted."""


@dataclass
class Device:
    """A GPU with its memory.

    Attributes:
        units, memory_bytes: what it says of itself.
        library: the compiled executor; None: NumPy executes everything.
        descriptor: of the file that is its memory.
    """

    gpu: Gpu
    choice: Choice = field(default_factory=Choice)
    units: int = 4
    memory_bytes: int = 8 << 30
    library: Library | None = None
    journal: Journal = field(init=False)
    descriptor: int = field(init=False)

    def __post_init__(self) -> None:
        self.journal = Journal(self.gpu.name, addresses=(BASE, BASE + BYTES))
        self.descriptor = os.memfd_create("apuflow-gpu")
        os.ftruncate(self.descriptor, BYTES)
        self._map = mmap.mmap(self.descriptor, BYTES)
        self._memory = Memory({}, np.frombuffer(self._map, np.uint8), BASE, distinct=True)
        self._machine = Machine({}, [], self._memory, self.library, heed="note")
        self._snapshots = Snapshots(self._view, self._owner, self.journal, self.choice.execute)
        self._allocations: dict[int, Allocation] = {}
        self._modules: list[Module] = []
        self._kernels: list[tuple[Module, Kernel]] = []
        self._selection = Selection(self.choice)
        self._count, self._used = 0, 0
        self._directory = tempfile.TemporaryDirectory(prefix="apuflow-capture-")
        self._answers: Mapping[Request, Callable[[bytes], tuple[Status, bytes]]] = {
            Request.HELLO: self._hello,
            Request.ALLOCATE: self._allocate,
            Request.FREE: self._free,
            Request.FIND: self._find,
            Request.LOAD: self._load,
            Request.KERNEL: self._kernel,
            Request.VARIABLE: self._variable,
            Request.LAUNCH: self._launch,
            Request.REFUSE: self._refuse,
            Request.PROGRAM: self._program,
        }

    def answer(self, request: int, payload: bytes) -> tuple[Status, bytes]:
        """Status and bytes of the reply to a request of the program.

        Raises:
            EngineError: the program cannot go on.
            Enough: it need not.
        """
        return self._answers[Request(request)](payload)

    def object_file(self, module: Module) -> Path:
        """A module's code object as a file, while the device is there."""
        return Path(self._directory.name) / f"{module.number}.co"

    def _hello(self, _payload: bytes) -> tuple[Status, bytes]:
        isa = self.gpu.isa
        numbers = self.units, isa.wave_size, LARGEST_WORKGROUP, isa.lds_bytes, isa.vector_registers, CLOCK_KHZ
        return Status.OK, PROPERTIES.pack(self.gpu.name.encode(), self.memory_bytes, *numbers)

    def _allocate(self, payload: bytes) -> tuple[Status, bytes]:
        size, kind = ALLOCATE.unpack(payload)
        if not size or self._used + size > self.memory_bytes:
            return Status.OUT_OF_MEMORY if size else Status.INVALID, ADDRESS.pack(0)
        self._count += 1
        self._used += size
        place = self._memory.add(f"allocation {self._count}", size)
        self._allocations[place.address] = Allocation(self._count, place, _KINDS[kind - 1])
        return Status.OK, ADDRESS.pack(place.address)

    def _free(self, payload: bytes) -> tuple[Status, bytes]:
        (address,) = ADDRESS.unpack(payload)
        found = self._allocations.pop(address, None)
        if found is None:
            return Status.INVALID, b""
        place = found.place
        self._used -= place.size
        self._memory.remove(place.name)
        self._map.madvise(mmap.MADV_REMOVE, place.address - BASE, -(-place.size // 4096) * 4096)
        return Status.OK, b""

    def _find(self, payload: bytes) -> tuple[Status, bytes]:
        found = self._owner(*ADDRESS.unpack(payload))
        if found is None:
            return Status.NOT_FOUND, PLACE.pack(0, 0, 0, 0)
        kind = _KINDS.index(found.kind) if isinstance(found, Allocation) else 0
        return Status.OK, PLACE.pack(found.place.address, found.place.size, kind + 1, 0)

    def _owner(self, address: int) -> Allocation | Module | None:
        """What an address lies in."""
        name = self._memory.owner(address)
        if name is None:
            return None
        kind, _, number = name.rpartition(" ")
        if kind == "code object":
            return self._modules[int(number)]
        return self._allocations.get(self._memory.places[name].address)

    def _load(self, payload: bytes) -> tuple[Status, bytes]:
        found = code_objects(payload)
        if self.gpu.name not in found:
            raise EngineError(
                "the program has no code for this GPU",
                key="--gfx",
                value=self.gpu.name,
                remedy=f"its code is for {', '.join(found) or 'the host only'}: build it for {self.gpu.name}",
            )
        data, number = found[self.gpu.name], len(self._modules)
        module = Module(number, data, Place("", 0, 0))
        self.object_file(module).write_bytes(data)
        module.place = self._machine.load(load_image(self.object_file(module)))
        module.initial = self._memory.view(module.place.name).copy()
        self._modules.append(module)
        return Status.OK, MODULE.pack(number)

    def _kernel(self, payload: bytes) -> tuple[Status, bytes]:
        (number,), name = MODULE.unpack_from(payload), payload[MODULE.size :].decode()
        module = self._modules[number]
        file = self.object_file(module)
        kernels = read_kernels(file)
        if name not in (each.name for each in kernels):
            return Status.NOT_FOUND, b""
        kernel = find_kernel(kernels, name, file)
        self._check(kernel)
        given = kernel.given[:MOST_PARAMETERS]
        self._kernels.append((module, kernel))
        head = KERNEL.pack(
            *(len(self._kernels) - 1, kernel.argument_bytes, kernel.lds_bytes, kernel.private_bytes),
            *(kernel.vector_registers, kernel.largest_workgroup, len(given)),
            *(kernel.required_workgroup or (0, 0, 0)),
        )
        rows = ((each.offset, each.size, parameter_kind(each.kind), each.alignment) for each in given)
        return Status.OK, head + b"".join(PARAMETER.pack(*row) for row in rows)

    def _check(self, kernel: Kernel) -> None:
        """Raise EngineError for a kernel that cannot run."""
        check_kernel(kernel)

    def _program(self, payload: bytes) -> tuple[Status, bytes]:
        number = len(self._modules)
        made = build_program(payload, self.gpu.name, Path(self._directory.name) / f"program{number}.cl")
        if made.code:
            self._load(made.code)
            self._modules[number].source = made.source
        reply = "\0".join((";".join(made.names), made.log, "")).encode() + made.code
        status, address = self._allocate(ALLOCATE.pack(len(reply), 2))
        if status is Status.OK:
            place = self._allocations[ADDRESS.unpack(address)[0]].place
            self._memory.view(place.name)[:] = np.frombuffer(reply, np.uint8)
        return status, PROGRAM.pack(number, 0, len(made.code), *ADDRESS.unpack(address))

    def _variable(self, payload: bytes) -> tuple[Status, bytes]:
        (number,), name = MODULE.unpack_from(payload), payload[MODULE.size :].decode()
        module = self._modules[number]
        for symbol in elf.symbols(module.data, elf.sections(module.data)):
            if symbol.name == name:
                address = module.place.address + symbol.value
                return Status.OK, PLACE.pack(address, symbol.size, 1, 0)
        return Status.NOT_FOUND, b""

    def _refuse(self, payload: bytes) -> tuple[Status, bytes]:
        function, _, remedy = payload.decode().partition("\n")
        message = f"the program calls {function}, which apuflow's GPU does not have"
        raise EngineError(message, value=function, remedy=remedy)

    def _launch(self, payload: bytes) -> tuple[Status, bytes]:
        asked = self._asked(payload)
        if asked is None:
            return Status.BAD_GEOMETRY, b""
        name = asked.kernel.name
        if not self._selection.named(name):
            self._execute(asked)
            return Status.OK, b""
        wanted, pointers = self._selection.wanted(name), list[Pointer]()
        if wanted:
            pointers = self._pointers(asked)
            owners = (owner for _, owner, _ in pointers)
            self._snapshots.before([asked.module, *owners], self.journal.count)
        self._count_or_keep(asked, pointers, self._execute(asked), wanted=wanted)
        return Status.OK, b""

    def _asked(self, payload: bytes) -> Asked | None:
        """The launch that a request describes; None: the GPU does not take it."""
        number, *_ = LAUNCH.unpack_from(payload)
        module, kernel = self._kernels[number]
        asked = read_asked(module, kernel, payload)
        self.journal.count += 1
        if problem := asked.problem(self.gpu.isa):
            self.journal.refused.append(f"launch {self.journal.count} of {asked.kernel.name}: {problem}")
            return None
        return asked

    def _count_or_keep(self, asked: Asked, pointers: list[Pointer], run: int, *, wanted: bool) -> None:
        """A launch has ended that is recorded, or that counts to one that is (:meth:`settle`).

        Args:
            run: its wavefront instructions.

        Raises:
            Enough: it was the last one that is wanted.
        """
        if self._selection.left_out(asked, run, wanted=wanted):
            return
        self._snapshots.after()
        code = asked.module.current
        assert code is not None
        addresses = [
            Address(place, owner.current, inside) for place, owner, inside in pointers if owner.current
        ]
        kept = Launched(
            *(self.journal.count, asked.module, code, asked.kernel.name, asked.grid, asked.workgroup),
            *(asked.lds, asked.block, tuple(addresses), run),
            offset=asked.offset,
        )
        self._selection.keep(kept)
        self.journal.launches.append(kept)
        if self.choice.first == len(self.journal.launches):
            raise Enough

    def settle(self) -> None:
        """The program has ended: count launches that are not recorded to those that are."""
        self._selection.settle()

    def _view(self, owner: Owner) -> Bytes:
        """What memory holds there."""
        return self._memory.view(owner.place.name)

    def _execute(self, asked: Asked) -> int:
        """Wavefront instructions of a launch that ran; 0 where none is executed."""
        if not self.choice.execute:
            return 0
        launch = Launch(
            *(asked.module.number, asked.kernel.name, asked.grid, asked.workgroup),
            *((Value(asked.block),), asked.lds),
        )
        began = time.monotonic()
        try:
            done = self._machine.run(launch, limit=self.choice.limit)
        except EngineError as error:
            error.message = f"launch {self.journal.count}: {named_lines(error.message, self._code_places())}"
            if isinstance(error, OutOfBounds):
                error.remedy = self._remedy(error.message, asked)
            raise
        self.journal.seconds += time.monotonic() - began
        self.journal.instructions += done.total
        if done.waits is not None:
            self.journal.waiting[asked.kernel.name] = done.waits
        return done.total

    def _remedy(self, message: str, asked: Asked) -> str:
        """What to do about an access outside of memory."""
        if re.search(r" at 0x[0-9a-f]+ are in no buffer", message):
            return "memory of the host is not the GPU's: use hipMalloc, hipHostMalloc or hipMallocManaged"
        return "; ".join(["correct the program", *filter(None, [self._arguments(asked)])])

    def _code_places(self) -> Mapping[Path, Place]:
        return {self.object_file(each): each.place for each in self._modules}

    def _arguments(self, asked: Asked) -> str:
        """The memory that a launch was given, in words."""
        said = []
        for number, each in enumerate(asked.kernel.given, 1):
            owner = self._owner(int.from_bytes(asked.block[each.offset : each.offset + 8], "little"))
            if each.kind == "global_buffer" and isinstance(owner, Allocation):
                name = f" ({each.name})" if each.name else ""
                size = f"{owner.place.size:,} bytes of {owner.kind} memory"
                said.append(f"argument {number}{name} is {owner.place.name}, {size}")
        return "; ".join(said)

    def _pointers(self, asked: Asked) -> list[Pointer]:
        """Every address in a launch's arguments."""
        found = []
        for each in asked.kernel.given:
            if each.kind == LDS_POINTER:
                continue
            for place in range(each.offset, each.offset + each.size - 7, 8):
                address = int.from_bytes(asked.block[place : place + 8], "little")
                owner = self._owner(address)
                if isinstance(owner, Module):
                    raise EngineError(
                        f"{asked.kernel.name} gets the address of a variable of a code object",
                        remedy="a workload has no such addresses: use the variable's name in the kernel",
                    )
                if owner is not None:
                    found.append(Pointer(place, owner, address - owner.place.address))
        return found
