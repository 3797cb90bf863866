"""Memory of a launch whose slice alone is computed: contents are made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import EngineError

if TYPE_CHECKING:
    from apuflow.interpret.state import Memory

_LEFT_OUT: Final = -1
_PAGE_BITS: Final = 12


class ReadsLeftOut(EngineError):
    """The slice reads what a store would have written that was left out: all of the program is to run."""


class Deferred:
    """Of each page whether it waits for its buffer's contents, or lacks what was stored there.

    Attributes:
        read: whether the slice has read contents of a buffer, on which addresses or branches may depend.

    Args:
        fills: what makes the bytes of a buffer, by its name.
    """

    def __init__(self, memory: Memory, fills: Mapping[str, Callable[[], NDArray[np.uint8]]]) -> None:
        self.read = False
        self._memory = memory
        self._names: Sequence[str] = list(fills)
        self._fills = fills
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
        states = np.unique(self._pages[np.concatenate([places, places + size - 1]) >> _PAGE_BITS])
        if states[0] == _LEFT_OUT:
            raise ReadsLeftOut("addresses or branches depend on values that the kernels compute")
        for number in states[states > 0]:
            name = self._names[number - 1]
            place = self._memory.places[name]
            pages = self._range(place.address - self._memory.base, place.size)
            if (self._pages[pages] == _LEFT_OUT).any():
                raise ReadsLeftOut("a buffer's contents depend on what was stored", key=name)
            self._memory.view(name)[:] = self._fills[name]()
            self._pages[pages] = 0
            self.read = True

    def leave_out(self, places: NDArray[Any], size: int) -> None:
        """A store to these places is left out."""
        self._pages[places >> _PAGE_BITS] = _LEFT_OUT
        self._pages[places + size - 1 >> _PAGE_BITS] = _LEFT_OUT
