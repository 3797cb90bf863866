"""Memory of a launch whose slice alone is computed: contents are made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.interpret.state import Memory

_LEFT_OUT: Final = -1
_PAGE_BITS: Final = 12


Fill: TypeAlias = Callable[[], NDArray[np.uint8]]


class ReadsLeftOut(EngineError):
    """The slice reads what a store would have written that was left out: all of the program is to run."""


class Deferred:
    """Of each page which buffer's contents it has when it is read, or that it lacks what was stored there.

    Args:
        fills: what makes the bytes of a buffer, by its name; None: they are zeros, as memory is at first.
    """

    def __init__(self, memory: Memory, fills: Mapping[str, Fill | None]) -> None:
        self.read = False
        self._memory = memory
        self._names: Sequence[str] = list(fills)
        self._fills = dict(fills)
        self._pages = np.zeros(len(memory.limits) + 1, np.int32)
        for number, name in enumerate(self._names):
            place = memory.places[name]
            self._pages[self._range(place.address - memory.base, place.size)] = number + 1

    @staticmethod
    def _range(first: int, size: int) -> slice:
        return slice(first >> _PAGE_BITS, (first + max(size, 1) - 1 >> _PAGE_BITS) + 1)

    def reading(self, places: NDArray[Any], size: int) -> None:
        """The slice is about to read ``size`` bytes at these places of memory.

        Raises:
            ReadsLeftOut: a store that was left out has written there.
        """
        if not len(places):
            return
        first, last = self._pages[places >> _PAGE_BITS], self._pages[places + size - 1 >> _PAGE_BITS]
        if not first.any() and not last.any():
            return
        states = np.unique([*first.tolist(), *last.tolist()])
        if states[0] == _LEFT_OUT:
            raise ReadsLeftOut("addresses or branches depend on values that the kernels compute")
        for number in states[states > 0]:
            name = self._names[number - 1]
            fill = self._fills[name]
            if fill is not None:
                self._memory.view(name)[:] = fill()
                self._fills[name] = None
            self.read = True

    def leave_out(self, places: NDArray[Any], size: int) -> None:
        """A store to these places is left out."""
        self._pages[places >> _PAGE_BITS] = _LEFT_OUT
        self._pages[places + size - 1 >> _PAGE_BITS] = _LEFT_OUT
