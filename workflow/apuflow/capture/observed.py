"""Programs that run on their own GPU under ROCm: a tool of its runtime tells what they do."""

from __future__ import annotations

import os
import re
from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from typing_extensions import override

from apuflow.capture.asked import Asked, check_kernel
from apuflow.capture.device import Device
from apuflow.capture.journal import Allocation, Bytes, Module
from apuflow.capture.library import build_library
from apuflow.capture.protocol import ADDRESS, MOST_PIECES, PIECE, Request, Status
from apuflow.capture.snapshots import Owner
from apuflow.core.errors import EngineError
from apuflow.interpret.state import Place
from apuflow.kernels.metadata import Kernel

HEADERS: Final = ("/opt/rocm/include/hsa", "/usr/include/hsa")
"""Where hsa_api_trace.h is looked for behind ``ROCM_PATH``: ROCm's own, Debian's."""
_REMEDY: Final = "apt install libhsa-runtime-dev, or name ROCm's directory in ROCM_PATH"
_TABLES: Final = {"core": "CoreApiTable", "amd": "AmdExtTable"}
_VERSION_BYTES: Final = 16
_ENTRY: Final = re.compile(r"decltype\((\w+)\)\s*\*\s*\w+_fn;")


@dataclass
class ObservedDevice(Device):
    """A GPU that executes its launches itself; memory has the program's addresses.

    The program asks OBSERVE before a launch, then MISSING and tells each piece by SNAPSHOT until nothing is
    missing; after the launch again MISSING and SNAPSHOT, then OBSERVED.
    """

    _starts: list[int] = field(default_factory=list, init=False)
    _held: dict[int, Bytes] = field(default_factory=dict, init=False)
    _now: Asked | None = field(default=None, init=False)
    _reached: dict[int, Allocation] | None = field(default=None, init=False)
    """What the launch that runs can reach; None: it is not yet known."""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.journal.addresses = (0, 0)
        self._answers = {
            **self._answers,
            Request.FREE: self._gone,
            Request.PLACED: self._placed,
            Request.OBSERVE: self._observe,
            Request.MISSING: self._missing,
            Request.SNAPSHOT: self._snapshot,
            Request.OBSERVED: self._observed,
        }

    def _placed(self, payload: bytes) -> tuple[Status, bytes]:
        address, size = PIECE.unpack(payload)
        self._gone(ADDRESS.pack(address))
        self._count += 1
        place = Place(f"allocation {self._count}", address, size)
        self._allocations[address] = Allocation(self._count, place, "device")
        insort(self._starts, address)
        self.journal.addresses = min(self._starts), max(self.journal.addresses[1], address + size)
        return Status.OK, b""

    def _gone(self, payload: bytes) -> tuple[Status, bytes]:
        (address,) = ADDRESS.unpack(payload)
        if self._allocations.pop(address, None) is None:
            return Status.INVALID, b""
        self._starts.remove(address)
        return Status.OK, b""

    def _observe(self, payload: bytes) -> tuple[Status, bytes]:
        asked = self._asked(payload)
        if asked is None or not self._selection.named(asked.kernel.name):
            return Status.NOT_FOUND, b""
        if not self._selection.wanted(asked.kernel.name):
            self._count_or_keep(asked, [], 0, wanted=False)
            return Status.NOT_FOUND, b""
        check_kernel(asked.kernel)
        self._now, self._reached, self._held = asked, None, {}
        return Status.OK, b""

    def _missing(self, _payload: bytes) -> tuple[Status, bytes]:
        """Pieces that the launch can reach and that nobody has told of; after the last one it may begin."""
        assert self._now is not None
        reached = self._reached if self._reached is not None else self._found(self._now)
        missing = [each.place for address, each in reached.items() if address not in self._held]
        if not missing and self._reached is None:
            given = (owner for _, owner, _ in self._pointers(self._now))
            self._snapshots.before([self._now.module, *given], self.journal.count)
            self._reached, self._held = reached, {}
        pieces = missing[:MOST_PIECES]
        packed = b"".join(PIECE.pack(each.address, each.size) for each in pieces)
        return Status.OK, len(pieces).to_bytes(8, "little") + packed

    def _found(self, asked: Asked) -> dict[int, Allocation]:
        """What a launch can reach by addresses, as far as memory is known."""
        found: dict[int, Allocation] = {}
        waiting = [owner for _, owner, _ in self._pointers(asked)]
        while waiting:
            owner = waiting.pop()
            address = owner.place.address
            if address not in found:
                found[address] = owner
                if address in self._held:
                    waiting += [to for _, to, _ in self._snapshots.pointers(owner)]
        return found

    def _snapshot(self, payload: bytes) -> tuple[Status, bytes]:
        (address,) = ADDRESS.unpack_from(payload)
        self._held[address] = np.frombuffer(payload, np.uint8, offset=ADDRESS.size)
        return Status.OK, b""

    def _observed(self, _payload: bytes) -> tuple[Status, bytes]:
        assert self._now is not None
        self._count_or_keep(self._now, self._pointers(self._now), 0, wanted=True)
        return Status.OK, b""

    @override
    def _check(self, kernel: Kernel) -> None:
        """Only what is recorded has to run elsewhere."""

    @override
    def _owner(self, address: int) -> Owner | None:
        number = bisect_right(self._starts, address) - 1
        found = self._allocations[self._starts[number]] if number >= 0 else None
        return found if found and address < found.place.address + found.place.size else None

    @override
    def _view(self, owner: Owner) -> Bytes:
        return super()._view(owner) if isinstance(owner, Module) else self._held[owner.place.address]


def tool_variables(root: Path) -> Mapping[str, str]:
    """Variables with which ROCm's runtime loads our tool.

    Raises:
        EngineError: its headers or a C compiler are missing.
    """
    named = os.environ.get("ROCM_PATH")
    places = [Path(named) / "include/hsa"] if named else map(Path, HEADERS)
    headers = next((each for each in places if (each / "hsa_api_trace.h").is_file()), None)
    if headers is None:
        raise EngineError("the headers of ROCm's runtime are missing", value=named, remedy=_REMEDY)
    made = {"hsa_places.h": places_header((headers / "hsa_api_trace.h").read_text(encoding="utf-8"))}
    library = build_library("libapuflow-hsa.so.1", ["hsa/tool.c"], root, made=made, include=headers)
    # Without the second one ROCm 6 loads no such tool where rocprofiler-register is there.
    return {"HSA_TOOLS_LIB": str(library.resolve()), "HSA_TOOLS_ROCPROFILER_V1_TOOLS": "1"}


def places_header(text: str) -> str:
    """A C header with the places of functions in the runtime's tables, from hsa_api_trace.h.

    Raises:
        EngineError: the text has no such tables.
    """
    lines = []
    for short, name in _TABLES.items():
        found = re.search(rf"^struct {name} \{{(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise EngineError(f"hsa_api_trace.h has no struct {name}", remedy=_REMEDY)
        functions = _ENTRY.findall(found[1])
        ends = (_VERSION_BYTES + 8 * number for number in range(len(functions) + 1))
        lines += [f"#define PLACE_OF_{each} {place}" for each, place in zip(functions, ends, strict=False)]
        lines.append(f"#define SIZE_OF_{short} {_VERSION_BYTES + 8 * len(functions)}")
    return "\n".join([*lines, ""])
