"""What the memory that a launch can reach holds before it, and what it has left there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.capture.journal import Address, Allocation, Bytes, Contents, Journal, Module
from apuflow.core.errors import EngineError

Owner: TypeAlias = Allocation | Module


def addresses_in(raw: Bytes, first: int, last: int) -> NDArray[np.int64]:
    """Places, in bytes, of words of 64 bits from ``first`` on and below ``last``."""
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    return 8 * np.flatnonzero((words >= np.uint64(first)) & (words < np.uint64(last)))


class Pointer(NamedTuple):
    """An address: its place in bytes, what it points into, and how far in."""

    place: int
    owner: Allocation
    inside: int


class _Reached(NamedTuple):
    """Memory that a launch can reach, and the addresses in it."""

    owner: Owner
    pointers: list[Pointer]


class Snapshots:
    """Follows memory from launch to launch.

    Args:
        view: what memory holds there.
        owner: what an address lies in.
        journal: has the addresses that memory may have.
        execute: launches write; else only the program does.
    """

    def __init__(
        self,
        view: Callable[[Owner], Bytes],
        owner: Callable[[int], Owner | None],
        journal: Journal,
        execute: bool,
    ) -> None:
        self._view, self._owner, self._journal, self._execute = view, owner, journal, execute
        self._reached: Mapping[int, _Reached] = {}

    def before(self, given: Iterable[Owner], launch: int) -> None:
        """Everything that a launch can reach gets its contents: new ones where the program has changed it.

        What points to memory with new contents gets new ones, too: it has another address now.

        Raises:
            EngineError: the program has changed memory of launches that were not executed.
        """
        self._reached = reached = self._found(given)
        changed = {key for key, each in reached.items() if self._changed(each.owner, launch)}
        while more := {
            key
            for key, each in reached.items()
            if key not in changed and any(id(to) in changed for _, to, _ in each.pointers)
        }:
            changed |= more
        for key in changed:
            owner = reached[key].owner
            view = self._view(owner)
            number = owner.number if isinstance(owner, Allocation) else 0
            owner.current = Contents(number, view.copy(), set=bool(view.any()))
        for key in changed:
            found = reached[key]
            assert found.owner.current is not None
            found.owner.current.pointers = tuple(
                Address(place, to.current, offset) for place, to, offset in found.pointers if to.current
            )

    def after(self) -> None:
        """Remember what the launch has left."""
        for each in self._reached.values() if self._execute else ():
            assert each.owner.current is not None
            each.owner.current.after = self._view(each.owner).copy()

    def _found(self, given: Iterable[Owner]) -> dict[int, _Reached]:
        reached: dict[int, _Reached] = {}
        waiting = list(given)
        while waiting:
            owner = waiting.pop()
            if id(owner) in reached:
                continue
            pointers = self.pointers(owner)
            reached[id(owner)] = _Reached(owner, pointers)
            waiting += [to for _, to, _ in pointers]
        return reached

    def pointers(self, owner: Owner) -> list[Pointer]:
        """Addresses of memory in a piece of it, or in variables that the program has changed.

        Raises:
            EngineError: a variable was given the address of a variable.
        """
        raw = self._view(owner)
        places = addresses_in(raw, *self._journal.addresses)
        words = raw[: len(raw) // 8 * 8].view(np.uint64)
        if isinstance(owner, Module):
            initial = owner.initial[: len(words) * 8].view(np.uint64)
            places = places[words[places // 8] != initial[places // 8]]
        found = []
        for place, address in zip(places, words[places // 8], strict=True):
            to = self._owner(int(address))
            if isinstance(to, Module) and isinstance(owner, Module):
                raise EngineError(
                    "the program gives a variable of its code the address of another one",
                    value=f"{int(address):#x}",
                    remedy="give it the address of memory, or initialize it in the source",
                )
            if isinstance(to, Allocation):
                found.append(Pointer(int(place), to, int(address) - to.place.address))
        return found

    def _changed(self, owner: Owner, launch: int) -> bool:
        known = owner.current
        if known is None:
            return True
        left = known.before if known.after is None else known.after
        if np.array_equal(left, self._view(owner)):
            return False
        if not self._execute:
            raise EngineError(
                f"the program changes memory that an earlier launch uses, before launch {launch}",
                value=owner.place.name,
                remedy="leave --no-execute out: nobody knows what the launches would have written there",
            )
        return True
