"""What can be told of a run while it goes on."""

from __future__ import annotations

from typing import Protocol

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.encodings import Instruction
from apuflow.interpret.state import Lanes, Waves


class Watch(Protocol):
    """Is told of each execution of a memory instruction, before it happens."""

    def scalar(self, found: Instruction, waves: Waves, addresses: Array, size: int) -> None:
        """``size`` bytes at one address a wavefront."""

    def vector(self, found: Instruction, waves: Waves, addresses: Array, size: int, lanes: Lanes) -> None:
        """``size`` bytes at one address a lane, (wavefronts, lanes), of active lanes."""

    def lds(self, found: Instruction, waves: Waves, inside: Array, size: int) -> None:
        """``size`` bytes at one place a lane in its workgroup's LDS."""
