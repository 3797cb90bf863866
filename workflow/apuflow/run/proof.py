"""Prove from a run's stats.txt that it finished: whole blocks, and their ticks, kernels and wavefronts."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from apuflow.run.proof_block import read_block
from apuflow.run.proof_rows import Damage, Rows
from apuflow.run.required_rows import RequiredRows, check_required_rows
from apuflow_analysis.counters.contradictions import overlapping
from apuflow_analysis.counters.table import LAUNCHED, WAVEFRONTS

_BEGIN = b"---------- Begin Simulation Statistics ----------"
_END = b"---------- End Simulation Statistics   ----------"
_DASHES = b"------"
_NOTHING = RequiredRows()
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_KERNELS = LAUNCHED.encode()
_WAVEFRONTS = f".{WAVEFRONTS}".encode()


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


def open_statistics(path: Path, suffix: str) -> BinaryIO:
    """A statistics file as gem5 or apuflow writes it: plain, .gz, .zst or .xz."""
    if suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.open(path, "rb"))
    if suffix == ".zst":
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(path.open("rb"), closefd=True))
    return path.open("rb")


def read_proof(
    path: Path | None, suffix: str | None = None, required: RequiredRows = _NOTHING
) -> StatisticsProof:
    """Read a statistics file once. Never raises for what is in it: what is wrong is in ``problem``.

    Args:
        suffix: how it is compressed, where its name does not say.
        required: rows that must be there because somebody reads them.
    """
    if path is None or not path.exists():
        return StatisticsProof("there is no statistics file")
    if path.stat().st_size == 0:
        return StatisticsProof(f"{path.name} is empty: gem5 did not end in a way that writes statistics")
    try:
        with open_statistics(path, path.suffix if suffix is None else suffix) as stream:
            return _Scan(path.name, required).read(stream)
    except _UNREADABLE as error:
        return StatisticsProof(f"{path.name} cannot be read to its end: {error}")


def text_sha256(path: Path, suffix: str | None = None) -> str | None:
    """SHA-256 of the text of a statistics file, uncompressed; None where it cannot be read to its end."""
    digest = hashlib.sha256()
    try:
        with open_statistics(path, path.suffix if suffix is None else suffix) as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except _UNREADABLE:
        return None
    return digest.hexdigest()


class _Scan:
    """Reads one file line by line."""

    def __init__(self, name: str, required: RequiredRows) -> None:
        self._name, self._required = name, required
        self._rows: Rows | None = None
        self._blocks = self._kernels = self._wavefronts = self._number = 0
        self._final_tick: int | None = None

    def read(self, stream: BinaryIO) -> StatisticsProof:
        digest = hashlib.sha256()
        line = b""
        try:
            for line in stream:
                digest.update(line)
                self._number += 1
                if self._rows is not None and line[:6] != _DASHES and line != b"\n":
                    self._rows.add(line)
                else:
                    self._between(line)
        except Damage as damage:
            return self._proof(f"{self._name}, line {self._number}: {_shown(line)}: {damage}")
        if self._rows is not None:
            return self._proof(f"{self._name} is cut in block {self._blocks + 1}")
        if self._blocks == 0:
            return StatisticsProof(f"{self._name} holds no statistics block")
        return self._proof(None, digest.hexdigest())

    def _between(self, line: bytes) -> None:
        """A line that is no row: a mark, or an empty one beside it."""
        mark = line.rstrip(b"\n")
        if mark == _BEGIN and self._rows is None:
            self._rows = Rows()
        elif mark == _END and self._rows is not None and line.endswith(b"\n"):
            self._end(self._rows)
            self._rows = None
        elif mark:
            inside = self._rows is not None or mark[:6] == _DASHES
            where = f"the file is cut or mixed up near block {self._blocks + 1}"
            raise Damage(where if inside else "it stands in no statistics block")

    def _end(self, rows: Rows) -> None:
        """A block is complete."""
        tick = _whole(rows.values.get(b"finalTick"))
        if tick is None:
            raise Damage(f"block {self._blocks + 1}, which ends here, has no finalTick")
        if self._final_tick is not None:
            self._check_order(self._final_tick, tick, _whole(rows.values.get(b"simTicks")))
        check_required_rows(self._required, read_block(rows))
        for name, value in rows.values.items():
            if name.endswith((_KERNELS, _WAVEFRONTS)):
                number = _whole(value)
                if number is None:
                    raise Damage(f"{name.decode()} is no whole number")
                if name.endswith(_KERNELS):
                    self._kernels += number
                else:
                    self._wavefronts += number
        self._blocks, self._final_tick = self._blocks + 1, tick

    def _check_order(self, before: int, tick: int, sim_ticks: int | None) -> None:
        """The block follows the one before it, and counts nothing that was counted there."""
        if tick < before:
            raise Damage(f"the file goes back in time: {before} then {tick} ticks")
        if sim_ticks is not None and overlapping(sim_ticks, before, tick):
            raise Damage(
                f"block {self._blocks + 1}, which ends here, counts again what the block before it counted: "
                f"simTicks is {sim_ticks}, {tick - before} ticks after that block"
            )

    def _proof(self, problem: str | None, sha256: str | None = None) -> StatisticsProof:
        return StatisticsProof(
            problem, self._blocks, self._final_tick, self._kernels, self._wavefronts, sha256
        )


def _shown(line: bytes) -> str:
    return repr(line[:80].decode(errors="replace"))


def _whole(text: bytes | None) -> int | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return int(value) if value.is_integer() else None
