"""What wavefronts see: registers of many wavefronts, memory, LDS."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.core.words import many
from apuflow.interpret.encodings import Instruction

Bits: TypeAlias = NDArray[np.uint32]
Lanes: TypeAlias = NDArray[np.bool_]
LANES: Final = 64
M0: Final = 124
EXEC: Final = 126
_PAGE: Final = 4096
_BASE: Final = 1 << 32
"""Address of the first page of memory."""
_NEAR: Final = 1 << 32
"""Bytes behind the last buffer that an index too large may reach; what is farther is another address."""


def _reserved(size: int) -> int:
    """Bytes of the pages of a buffer, and of one that belongs to none."""
    return (-(-size // _PAGE) + 1) * _PAGE


class Contents(Protocol):
    """Contents of memory of which only a launch's slice is computed.

    Attributes:
        read: whether the slice has read contents of a buffer, on which addresses or branches may depend.
    """

    read: bool

    def reading(self, places: NDArray[Any], size: int) -> None:
        """``size`` bytes at these places are read next."""

    def leave_out(self, places: NDArray[Any], size: int) -> None:
        """A store to these places is left out."""


class OutOfBounds(EngineError):
    """A kernel reads or writes where no buffer is."""


@dataclass(frozen=True)
class Place:
    """A buffer in memory: its name, first address, bytes."""

    name: str
    address: int
    size: int


class Memory:
    """Global memory: buffers at addresses of their own, a page or more apart.

    Args:
        sizes: bytes of each buffer, by its name.
        data: where they lie, its first byte at address ``base``; None: as many bytes as they need.
        distinct: no two numbers of 32 bits that are below 2**31 look like an address.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        data: NDArray[np.uint8] | None = None,
        base: int = _BASE,
        *,
        distinct: bool = False,
    ) -> None:
        self._distinct = distinct
        self.places: dict[str, Place] = {}
        self.deferred: Contents | None = None
        """Where only a launch's slice is computed."""
        self.base = base
        if data is None:
            data = np.zeros(max(sum(map(_reserved, sizes.values())), _PAGE) + 16, np.uint8)
        self.bytes = data
        self.words = data[: len(data) // 4 * 4].view(np.uint32)
        self.limits = np.zeros(len(data) // _PAGE + 1, np.int64)
        self._end = 0
        self._order: list[Place] = []
        """All that have been, by address."""
        for name, size in sizes.items():
            self.add(name, size)

    def add(self, name: str, size: int) -> Place:
        """One more buffer, behind all that have been; raises EngineError where no room is left."""
        first = self._end
        if self._distinct:
            first += max(0, (1 << 31) - (self.base + first & 0xFFFFFFFF))
        end = first + _reserved(size)
        if end > len(self.bytes):
            raise EngineError("no memory is left", key=name, value=f"{size:,} bytes")
        self.limits[first >> 12 : first + size + _PAGE - 1 >> 12] = first + size
        self.places[name] = Place(name, self.base + first, size)
        self._end = end
        self._order.append(self.places[name])
        return self.places[name]

    @property
    def end(self) -> int:
        """Bytes up to the end of the last buffer."""
        return self._end

    def remove(self, name: str) -> None:
        """Forget a buffer; no other gets its addresses."""
        place = self.places.pop(name)
        first = place.address - self.base
        self.limits[first >> 12 : first + place.size + _PAGE - 1 >> 12] = 0

    def owner(self, address: int) -> str | None:
        """Name of the buffer that an address lies in."""
        if not 0 <= address - self.base < self._end:
            return None
        found = bisect.bisect_right(self._order, address, key=lambda each: each.address) - 1
        place = self._order[found]
        inside = address < place.address + max(place.size, 1) and self.places.get(place.name) is place
        return place.name if inside else None

    def view(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a buffer; what is written there is seen by the kernels."""
        place = self.places[name]
        return self.bytes[place.address - self.base :][: place.size]

    def put_address(self, name: str, place: int, address: int) -> None:
        """Write an address at a place of a buffer."""
        self.view(name)[place : place + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)

    def offsets(self, addresses: NDArray[Any], size: int) -> NDArray[np.int64]:
        """Where addresses stand in ``bytes``.

        Raises:
            OutOfBounds: ``size`` bytes from one of them are not inside a buffer.
        """
        places = addresses.astype(np.int64) - self.base
        if len(places) and (
            places.min() < 0
            or places.max() >= len(self.bytes)
            or (places + size > self.limits[places >> 12]).any()
        ):
            raise OutOfBounds(self._missed(int(addresses[self.missing(addresses, size)]), size))
        return places

    def missing(self, addresses: NDArray[Any], size: int) -> int:
        """Number of the first address from which ``size`` bytes are not inside a buffer."""
        places = addresses.astype(np.int64) - self.base
        inside = (places >= 0) & (places < len(self.bytes))
        inside[inside] = (places + size <= self.limits[np.where(inside, places, 0) >> 12])[inside]
        return int(inside.argmin())

    def _missed(self, address: int, size: int) -> str:
        bytes_ = many(size, "byte")
        if 0 <= address < _PAGE:
            return f"{bytes_} at {address:#x}, a null pointer"
        before = bisect.bisect_right(self._order, address, key=lambda each: each.address)
        if not before or address - self.base >= max(len(self.bytes), self._end + _NEAR):
            return f"{bytes_} at {address:#x} are in no buffer"
        near = self._order[before - 1]
        freed = self.places.get(near.name) is not near
        about = "was freed" if freed else f"has {near.size:,} bytes"
        ending = "" if freed else ", are in no buffer"
        return f"{bytes_} at byte {address - near.address:,} of {near.name}, which {about}{ending}"


class Lds:
    """LDS of workgroups that start together, one behind the other.

    Args:
        size: bytes of each.
    """

    deferred = None

    def __init__(self, groups: int, size: int) -> None:
        self.size = size
        self.numbers: list[tuple[int, ...]] = [(number, 0, 0) for number in range(groups)]
        """Of each workgroup, its number in the grid."""
        self.marks = np.arange(1, groups + 1, dtype=np.int32)
        """The same as one number, from 1 on."""
        self.live = np.zeros(groups, np.int64)
        """Wavefronts of each workgroup that have not ended."""
        self.stride = -(-size // 16) * 16
        self.bytes = np.zeros(groups * self.stride + 16, np.uint8)
        self.words = self.bytes.view(np.uint32)


class Watch(Protocol):
    """Is told of each execution of a block, and of each memory instruction in it, before it happens."""

    def block(self, instructions: Sequence[Instruction], waves: Waves) -> None:
        """Wavefronts begin these instructions, which end with a branch or a wait, or at a place to meet."""

    def vector(
        self, found: Instruction, waves: Waves, addresses: NDArray[Any], size: int, lanes: Lanes
    ) -> None:
        """``size`` bytes at one address a lane, (wavefronts, lanes), of active lanes."""

    def lds(self, waves: Waves, inside: NDArray[Any]) -> None:
        """One place a lane in its workgroup's LDS."""


@dataclass
class Waves:
    """Wavefronts at the same instruction.

    Attributes:
        s: scalar registers, (128, wavefronts); EXEC is in ``exec``.
        v: vector registers, (registers, wavefronts, 64).
        exec: active lanes, (wavefronts, 64).
        scc: (wavefronts,).
        group: number of each one's workgroup in this run; its LDS is the one of that number.
        number: of each one in the launch, in the order of their start.
        private: address of each one's private memory.
        accumulation: number of the first accumulation register among the vector registers.
        watch: what wants to know of memory accesses.
    """

    s: Bits
    v: Bits
    exec: Lanes
    scc: Lanes
    group: NDArray[np.int64]
    number: NDArray[np.int64]
    private: NDArray[np.int64]
    memory: Memory
    lds: Lds
    accumulation: int
    watch: Watch | None = None
    full: bool = field(init=False)
    """Whether every lane of every wavefront is active."""
    native: Any = field(default=None, init=False)
    told: tuple[Lanes, Lanes] | None = field(default=None, init=False)
    """What :mod:`apuflow.interpret.native` keeps of them."""

    def __post_init__(self) -> None:
        self.s, self.v = np.ascontiguousarray(self.s), np.ascontiguousarray(self.v)
        self.vf: NDArray[np.float32] = self.v.view(np.float32)
        self.vi: NDArray[np.int32] = self.v.view(np.int32)
        self.halves: NDArray[np.uint16] = self.v.view(np.uint16).reshape(*self.v.shape, 2)
        self.full = bool(self.exec.all())

    def __len__(self) -> int:
        return self.exec.shape[0]

    def taken(self, chosen: Lanes) -> Waves:
        """Those of the wavefronts, with registers of their own."""
        return replace(
            self,
            s=self.s[:, chosen],
            v=self.v[:, chosen],
            exec=self.exec[chosen],
            scc=self.scc[chosen],
            group=self.group[chosen],
            number=self.number[chosen],
            private=self.private[chosen],
        )

    @staticmethod
    def joined(parts: Sequence[Waves]) -> Waves:
        """Wavefronts that have come to the same instruction."""
        if len(parts) == 1:
            return parts[0]
        return replace(
            parts[0],
            s=np.concatenate([part.s for part in parts], 1),
            v=np.concatenate([part.v for part in parts], 1),
            exec=np.concatenate([part.exec for part in parts]),
            scc=np.concatenate([part.scc for part in parts]),
            group=np.concatenate([part.group for part in parts]),
            number=np.concatenate([part.number for part in parts]),
            private=np.concatenate([part.private for part in parts]),
        )

    def set_exec(self, lanes: Lanes) -> None:
        """Make these lanes active."""
        self.exec = lanes
        self.full = bool(lanes.all())

    def mask(self, register: int) -> Lanes:
        """A pair of scalar registers as lanes, (wavefronts, 64)."""
        if register == EXEC:
            return self.exec
        pair = np.ascontiguousarray(self.s[register : register + 2].T)
        return unpacked(pair)

    def set_mask(self, register: int, lanes: Lanes) -> None:
        """Write lanes into a pair of scalar registers."""
        if register == EXEC:
            self.set_exec(np.array(lanes))
        else:
            self.s[register : register + 2] = packed(lanes).T

    def word(self, register: int) -> Bits:
        """A scalar register of each wavefront."""
        if register >= EXEC:
            return np.ascontiguousarray(packed(self.exec)[:, register - EXEC])
        return self.s[register]

    def set_word(self, register: int, value: NDArray[Any]) -> None:
        """Write a scalar register of each wavefront."""
        if register < EXEC:
            self.s[register] = value
            return
        words = packed(self.exec)
        words[:, register - EXEC] = value
        self.set_exec(unpacked(words))


def packed(lanes: Lanes) -> Bits:
    """Lanes (wavefronts, 64) as two words for each wavefront."""
    return np.packbits(lanes, axis=1, bitorder="little").view(np.uint32)


def unpacked(words: NDArray[Any]) -> Lanes:
    """Lanes of 64 bits for each wavefront: of one word of 64 bits, or of two of 32."""
    raw = words.view(np.uint8).reshape(-1, LANES // 8)
    return np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)


Step: TypeAlias = Callable[[Waves], None]
"""What an instruction does."""
