"""Prove from a run's stats.txt that it finished: whole blocks, and their ticks, kernels and wavefronts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.blocks import Block, Blocks, Fault, open_packed
from apuflow.gem5.stats.checks import (
    LAUNCHED,
    WAVEFRONTS,
    RequiredRow,
    check_block,
    first_fault,
)
from apuflow.gem5.stats.contradictions import overlapping
from apuflow.gem5.stats.rows import Damage, Rows, parse_block

_WAVEFRONTS = f".{WAVEFRONTS}"


@dataclass(frozen=True)
class StatisticsProof:
    """What a statistics file shows.

    Attributes:
        problem: why it proves nothing (missing, empty, cut, mixed up), or None.
        blocks: complete Begin/End blocks.
        final_tick: ``finalTick`` of the last block.
        kernels: GPU kernels launched, over all blocks.
        wavefronts: wavefronts completed on all compute units, over all blocks.
        sha256: of the text, uncompressed.
    """

    problem: str | None = None
    blocks: int = 0
    final_tick: int | None = None
    kernels: int = 0
    wavefronts: int = 0
    sha256: str | None = None


def read_proof(path: Path | None, required: Sequence[RequiredRow] = ()) -> StatisticsProof:
    """Read a statistics file once. What is wrong, such as a missing ``required`` row, is in ``problem``."""
    if path is None or not path.exists():
        return StatisticsProof("there is no statistics file")
    if path.stat().st_size == 0:
        return StatisticsProof(f"{path.name} is empty: gem5 did not end in a way that writes statistics")
    digest, proven = hashlib.sha256(), _Proven()
    blocks = Blocks(path, digest.update)
    fault: Fault | None = None
    try:
        for block in blocks:
            fault = blocks.fault or proven.add(block, required)
            if fault is not None:
                break
    except AnalysisError as error:
        return StatisticsProof(f"{path.name} cannot be read to its end: {error.message}")
    fault = fault or blocks.fault
    if fault is None and proven.blocks == 0:
        fault = Fault(0, "holds no statistics block")
    if fault is not None:
        return StatisticsProof(_problem(path, fault), **vars(proven))
    return StatisticsProof(**vars(proven), sha256=digest.hexdigest())


class _Proven:
    """What the blocks up to here show."""

    def __init__(self) -> None:
        self.blocks = self.kernels = self.wavefronts = 0
        self.final_tick: int | None = None

    def add(self, block: Block, required: Sequence[RequiredRow]) -> Fault | None:
        """Take a block; the first fault in it, and None if it has none."""
        rows = parse_block(block.lines, strict=True)
        if (fault := first_fault(rows)) is not None:
            return Fault(block.line + fault.line, fault.reason)
        try:
            self._add(rows, required)
        except Damage as damage:
            return Fault(block.line + block.lines.tobytes().count(b"\n"), str(damage))
        return None

    def _add(self, rows: Rows, required: Sequence[RequiredRow]) -> None:
        numbers, number = rows.numbers, self.blocks + 1
        tick = numbers.get("finalTick")
        if tick is None or not tick.is_integer():
            raise Damage(f"block {number}, which ends here, has no finalTick")
        if self.final_tick is not None:
            _check_order(number, self.final_tick, int(tick), numbers.get("simTicks"))
        check_block(rows, required)
        for name, value in numbers.items():
            if name.endswith((LAUNCHED, _WAVEFRONTS)):
                if not value.is_integer():
                    raise Damage(f"{name} is no whole number")
                if name.endswith(LAUNCHED):
                    self.kernels += int(value)
                else:
                    self.wavefronts += int(value)
        self.blocks, self.final_tick = number, int(tick)


def _check_order(number: int, before: int, tick: int, sim_ticks: float | None) -> None:
    """The block follows the one before it, and counts nothing that was counted there."""
    if tick < before:
        raise Damage(f"the file goes back in time: {before} then {tick} ticks")
    if sim_ticks is not None and overlapping(sim_ticks, before, tick):
        raise Damage(
            f"block {number}, which ends here, counts again what the block before it counted: "
            f"simTicks is {sim_ticks:.0f}, {tick - before} ticks after that block"
        )


def _problem(path: Path, fault: Fault) -> str:
    """What is wrong, with the line that shows it."""
    if fault.line == 0:
        return f"{path.name} {fault.reason}"
    with open_packed(path) as stream:
        line = next(islice(stream, fault.line - 1, None), b"")
    return f"{path.name}, line {fault.line}: {line[:80].decode(errors='replace')!r}: {fault.reason}"
