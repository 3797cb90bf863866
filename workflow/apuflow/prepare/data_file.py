"""The file that DNNMark's ``-mmap`` reads its data from: finite floats, as large as needed, at disk speed.

DNNMark maps chunk after chunk and starts again at the beginning if a chunk would pass the end
(core/include/data_png.h), so the file must hold the largest chunk, not their sum. Upstream's
generate_rand_data.cpp always writes 2 GiB, one rand() at a time.
"""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np

from apuflow.core.errors import ApuflowError
from apuflow.core.files import atomic_write

PAGE = 4096
_BLOCK_FLOATS = 1 << 20
_SEED = 1


def file_bytes(needed: int) -> int:
    """Size of the file for a largest chunk of ``needed`` bytes: whole pages, at least one."""
    return max(PAGE, -(-needed // PAGE) * PAGE)


def block() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A block of the file: uniform in [0, 1), little-endian, never NaN, infinite or denormal.

    Random bits fill the mantissa of numbers in [1, 2), so the smallest non-zero value is 2^-23.
    """
    bits = np.random.default_rng(_SEED).integers(0, 1 << 23, _BLOCK_FLOATS, dtype=np.uint32)
    numbers = (bits | np.uint32(0x3F800000)).view("<f4")
    values: np.ndarray[tuple[int], np.dtype[np.float32]] = numbers - np.float32(1)
    return values


def write_mmap(path: Path, size: int) -> None:
    """Write the file atomically, with the same bytes for a size on all machines. The block repeats.

    Raises ApuflowError if the disk is full, or the file reads back wrong.
    """
    if size <= 0 or size % PAGE:
        raise ApuflowError("the data file's size must be whole pages", value=size, remedy="see file_bytes()")
    content = memoryview(block().tobytes())
    try:
        with atomic_write(path, flush=False) as part:
            with part.open("wb", buffering=0) as stream:
                left = size
                while left > 0:
                    left -= stream.write(content[: min(left, len(content))])
            problem = check_mmap(part, size)
            if problem is not None:
                raise ApuflowError(f"the data file is wrong: {problem}", file=path, remedy="check the disk")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        remedy = "free some, or make build a link to a directory on another disk"
        raise ApuflowError(
            f"no space for the data file of {size:,} bytes", file=path, remedy=remedy
        ) from error


def check_mmap(path: Path, needed: int) -> str | None:
    """Why a data file does not fit a largest chunk of ``needed`` bytes, or None.

    It checks the size and samples; a user's file may hold any finite floats.
    """
    try:
        size = path.stat().st_size
        if size < needed:
            return f"{size:,} bytes, but a chunk of {needed:,} is filled from it"
        if size % 4:
            return f"{size:,} bytes are not whole floats"
        with path.open("rb") as stream:
            for offset in np.linspace(0, max(0, size - PAGE), 64).astype(np.int64):
                stream.seek(int(offset) // 4 * 4)
                values = np.frombuffer(stream.read(PAGE), "<f4")
                if not np.isfinite(values).all():
                    return f"a value near byte {int(offset):,} is not finite"
    except OSError as error:
        return error.strerror or str(error)
    return None
