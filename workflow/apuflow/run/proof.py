"""Just enough of stats.txt to prove that a run finished: blocks, ticks, kernels, wavefronts."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

_BEGIN = b"---------- Begin Simulation Statistics ----------"
_END = b"---------- End Simulation Statistics   ----------"
_VALUE = re.compile(rb"^(\S+)\s+(\S+)")
_KERNELS = b".dispatcher.numKernelLaunched"
_WAVEFRONTS = b".completedWfs"


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


def scan(path: Path | None, suffix: str | None = None) -> StatisticsProof:
    """Read a statistics file once. Never raises for what is in it: what is wrong is in ``problem``.

    Args:
        suffix: how it is compressed, where its name does not say.
    """
    if path is None or not path.exists():
        return StatisticsProof("there is no statistics file")
    if path.stat().st_size == 0:
        return StatisticsProof(f"{path.name} is empty: gem5 did not end in a way that writes statistics")
    try:
        with open_statistics(path, path.suffix if suffix is None else suffix) as stream:
            return _scan(stream, path.name)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        return StatisticsProof(f"{path.name} cannot be read to its end: {error}")


def _scan(stream: BinaryIO, name: str) -> StatisticsProof:
    digest = hashlib.sha256()
    blocks = kernels = wavefronts = 0
    final_tick: int | None = None
    tick_of_block: int | None = None
    inside = False
    for line in stream:
        digest.update(line)
        if line.startswith(b"------"):
            mark = line.rstrip(b"\n")
            if mark == _BEGIN and not inside:
                inside, tick_of_block = True, None
            elif mark == _END and inside and line.endswith(b"\n"):
                if tick_of_block is None:
                    return StatisticsProof(f"block {blocks + 1} of {name} has no finalTick")
                if final_tick is not None and tick_of_block < final_tick:
                    return StatisticsProof(
                        f"{name} goes back in time: {final_tick} then {tick_of_block} ticks"
                    )
                inside, blocks, final_tick = False, blocks + 1, tick_of_block
            else:
                return StatisticsProof(f"{name} is cut or mixed up near block {blocks + 1}")
        elif inside and (_KERNELS in line or _WAVEFRONTS in line or line.startswith(b"finalTick")):
            match = _VALUE.match(line)
            number = _whole(match.group(2)) if match else None
            if match is None or number is None:
                return StatisticsProof(
                    f"{name} has an unreadable line: {line[:80].decode(errors='replace')!r}"
                )
            key = match.group(1)
            if key == b"finalTick":
                tick_of_block = number
            elif key.endswith(_KERNELS):
                kernels += number
            elif key.endswith(_WAVEFRONTS):
                wavefronts += number
    if inside:
        return StatisticsProof(
            f"{name} is cut in block {blocks + 1}", blocks, final_tick, kernels, wavefronts
        )
    if blocks == 0:
        return StatisticsProof(f"{name} holds no statistics block")
    return StatisticsProof(None, blocks, final_tick, kernels, wavefronts, digest.hexdigest())


def _whole(text: bytes) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else None
