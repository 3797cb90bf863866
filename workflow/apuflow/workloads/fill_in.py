"""Workloads of kernels that their author fills in: the file, a copy of the sources, a reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_files
from apuflow.kernels.sources import source_files

SIZE: Final = 64
"""Of every number that only the user knows."""
_HEAD: Final = """\
# Written by apuflow new workload {name} --from {file}. To fill in: parameters, sizes and types of buffers,
# {more}, outputs and reference. Keys: {page}.
"""
_TAIL: Final = """\
# When {reference} says what they hold:
# outputs: [{outputs}]
# reference: {reference}
"""
_REFERENCE: Final = '''\
"""What the kernels of workload {name} should compute."""


def expected(buffers, parameters):
    """NumPy arrays by buffer before the first launch in; those of `outputs` after the last launch out."""
    raise NotImplementedError("{outputs}")
'''


@dataclass(frozen=True)
class Draft:
    """A workload to fill in.

    Attributes:
        content: of the file, without ``outputs`` and ``reference``.
        outputs: buffers that its kernels write, or may write.
        more: what else only the user knows. page: where its keys are described.
    """

    content: Mapping[str, Any]
    outputs: Collection[str]
    more: str
    page: str


def write_draft(draft: Draft, path: Path, name: str, root: Path) -> tuple[Path, ...]:
    """Write a workload, a copy of its source with what that includes, and a reference; the files.

    Raises:
        ConfigError: the source includes a file above its directory.
    """
    target = Path(paths.workload_file(name))
    reference = f"{name}/{name}_reference.py"
    words = {"name": name, "file": path.name, "outputs": ", ".join(draft.outputs)}
    text = _HEAD.format(more=draft.more, page=draft.page, **words)
    text += yaml.safe_dump(dict(draft.content), sort_keys=False, default_flow_style=None, width=110)
    text += _TAIL.format(reference=reference, **words)
    files = {target: text.encode(), **_copies(path, target.parent / name)}
    files[target.parent / reference] = _REFERENCE.format(**words).encode()
    write_files({root / file: data for file, data in files.items()})
    return tuple(root / file for file in files)


def _copies(path: Path, directory: Path) -> dict[Path, bytes]:
    found = {}
    for file in source_files(path):
        place = file.relative_to(path.parent)
        if ".." in place.parts:
            what, remedy = "the source includes a file above its directory", "copy that file beside it"
            raise ConfigError(what, file=path, key="--from", value=str(place), remedy=remedy)
        found[directory / place] = file.read_bytes()
    return found
