"""Which lines the workgroups of a tiled matrix product share, on a compute unit and over all."""

from __future__ import annotations

from math import ceil, gcd
from typing import NamedTuple


class Tiles(NamedTuple):
    """What workgroups read of both operands of a product in a step.

    Workgroups are dispatched down a column, in which tiles of the first operand differ, then along the second
    operand, and go round robin over the compute units: those of a unit are ``used`` after one another.

    Attributes:
        column: tiles of the first operand.
        first_bytes, second_bytes: of an operand that a workgroup reads in a step.
        first_edge, second_edge: of the lines of a tile, those that neighbours have as well.
        steps: of a workgroup.
    """

    column: int
    first_bytes: float
    second_bytes: float
    first_edge: float
    second_edge: float
    steps: int

    def touched(self, running: float) -> float:
        """Bytes that ``running`` workgroups read between two uses of a line, all of them in the same step."""
        return self.first_bytes * min(float(self.column), running) + self.second_bytes * ceil(
            running / self.column
        )

    def different(self, resident: int, used: int) -> tuple[float, float]:
        """Tiles of either operand that ``resident`` workgroups of a unit have."""
        first = min(resident, self._turn(used))
        return float(first), 1.0 + (resident - 1) * min(1.0, used / self.column)

    def apart(self, resident: int, used: int) -> tuple[float, float]:
        """As many tiles have the lines that they read in a step: neighbours share some."""
        first, second = self.different(resident, used)
        beside = (first - 1.0) / max(1.0, self.column - 1.0)
        following = min(1.0, self.column / used) * (second - 1.0) / second
        return first * (1.0 - self.first_edge * beside), second * (1.0 - self.second_edge * following)

    def step_bytes(self, resident: int, used: int) -> float:
        """Bytes that ``resident`` workgroups of a unit read in a step."""
        first, second = self.apart(resident, used)
        return self.first_bytes * first + self.second_bytes * second

    def until_again(self, operand: int, resident: int, used: int) -> float:
        """Bytes that a unit's workgroups read until others of them come back to a tile of an operand."""
        turn = self._turn(used)
        return self.steps * self.step_bytes(min(turn, resident) if operand else turn, used)

    def units(self, operand: int, used: int) -> float:
        """Compute units that read the same line of an operand."""
        if operand:
            edge, following = self.second_edge, min(1.0, self.column / used)
            own = min(used, self.column) * (1.0 - edge * following)
        else:
            edge, turn = self.first_edge, self._turn(used)
            beside = (turn - 1.0) / max(1.0, self.column - 1.0)
            own = used * turn / self.column * (1.0 - edge * beside)
        return min(own / (1.0 - edge), float(used))

    def _turn(self, used: int) -> int:
        """Workgroups of a unit after which it has the first tile of the first operand again."""
        return self.column // gcd(self.column, used)
