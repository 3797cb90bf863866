"""Instructions that gem5 does not implement: a kernel that reaches one ends gem5 with ``fatal``.

Source: gem5's decoder and ``execute`` methods, as ``tests/unit/unimplemented_sources.py`` reads them into
``unimplemented.yaml`` next to this file. Later releases are assumed equal to the last one read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from apuflow.core.gpus import gpu
from apuflow.launcher.disassembly import executed

_FORM = re.compile(r"_(?:e32|e64|sdwa|dpp)$")
"""LLVM's suffix of a name for the encoding."""


def missing(objects: Iterable[Path], gfx: str, releases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By release, names of the code objects' instructions that its gem5 does not implement.

    Finds nothing without llvm-objdump next to the machine's clang. ``releases`` are gem5's own, as ``v24.0``;
    those after the table's last one equal it.
    """
    present = {_FORM.sub("", line.split()[0]) for path in objects for line in executed(path, gfx) if line}
    last = {name: _number(release) for name, release in _table()[gpu(gfx).isa.build_target].items()}
    newest = max(last.values())
    return {
        release: tuple(
            sorted(name for name in present & last.keys() if min(_number(release), newest) <= last[name])
        )
        for release in releases
    }


def _number(release: str) -> tuple[int, ...]:
    """``v24.0`` as (24, 0): v9.1 comes before v21.1."""
    return tuple(map(int, release.removeprefix("v").split(".")))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, str]]:
    """By build and instruction, the last release without it."""
    import yaml

    text = Path(__file__).with_name("unimplemented.yaml").read_text(encoding="utf-8")
    return {
        build: {name: release for release, names in by_release.items() for name in names.split()}
        for build, by_release in yaml.safe_load(text).items()
    }
