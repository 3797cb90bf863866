"""Write a group of files so that a reader sees all of them whole or none of them changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(contents: Mapping[str | Path, bytes]) -> None:
    """Write each content beside its target, flush all to disk, then rename all of them.

    When writing any of them fails, none of the targets has changed and no partial file is left.
    """
    parts: dict[Path, Path] = {}
    umask = os.umask(0)
    os.umask(umask)
    try:
        for name, content in contents.items():
            target = Path(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            parts[target] = Path(part)
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(part).chmod(0o666 & ~umask)
        for target, part_path in parts.items():
            part_path.replace(target)
    finally:
        for part_path in parts.values():
            part_path.unlink(missing_ok=True)
