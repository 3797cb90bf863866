"""What of a program of the user's own its gem5 cannot run, though its launches fit their kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.forms.table import Table
from apuflow.kernels.metadata import find_kernel
from apuflow.kernels.program import Code, KernelsByCode, OwnProgram
from apuflow.launcher.refusals import Refusal, refusals


def refused(
    program: OwnProgram,
    kernels: KernelsByCode,
    codes: Mapping[Code, Path],
    gfx: str,
    release: str,
    tables: Sequence[Table],
    block: int | None = None,
) -> Iterator[Refusal]:
    """As :func:`apuflow.launcher.refusals.refusals`, of every kernel that is launched."""
    axes: dict[Code, dict[str, int]] = {}
    for launch in dict.fromkeys(program.launches):
        name = find_kernel(kernels[launch.code], launch.kernel, launch.code.source).name
        most = max((number for number, size in enumerate(launch.workgroup, 1) if size > 1), default=1)
        known = axes.setdefault(launch.code, {})
        known[name] = max(most, known.get(name, 1))
    for code, workgroups in axes.items():
        yield from refusals(codes[code], gfx, release, tables, workgroups, block)


def check_refused(found: Iterator[Refusal], program: OwnProgram, gfx: str, file: str) -> None:
    """Raise ConfigError with everything that keeps a program from running."""
    every = list(found)
    if every:
        raise ConfigError(
            f"gem5 cannot run {program.name} for {gfx}: "
            + "; ".join(f"{each.kernel}: {each.why}" for each in every),
            file=file,
            key="gfx-version",
            value=gfx,
            remedy="; ".join(dict.fromkeys(each.remedy for each in every)),
        )
