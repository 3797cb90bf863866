"""What gem5 and its guest print may be gigabytes: texts of finished tries that are long are packed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import zstandard

from apuflow.core.files import atomic_write, write_text

LONGEST = 16 << 20
"""Bytes of a text that stays as it is."""

_SHOWN = 64 << 10


def pack(files: Iterable[Path]) -> None:
    """Compress each text that is longer than LONGEST.

    ``NAME.zst`` has all of it; ``NAME`` keeps its beginning and end, with a line about it between them.
    """
    for file in files:
        try:
            size = file.stat().st_size
        except OSError:
            continue
        if size > LONGEST and not file.is_symlink():
            packed = file.with_name(f"{file.name}.zst")
            with atomic_write(packed, flush=False) as part, file.open("rb") as text, part.open("wb") as out:
                zstandard.ZstdCompressor(level=3).copy_stream(text, out)
            with file.open("rb") as text:
                head = text.read(_SHOWN).decode(errors="replace")
                text.seek(-_SHOWN, 2)
                tail = text.read().decode(errors="replace")
            note = f"[apuflow: {size:,} bytes are too long for a text; all of it: zstd -dc {packed.name}]"
            write_text(file, f"{head}\n{note}\n{tail}")
