"""Kernel objects of MIOpen's programs: names, sources, compilation, each distinct one once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from apuflow.core import paths
from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.miopen.compiler import Compiler, Runner, compile_source, digest, run_on_host
from apuflow.miopen.compiler_faults import spoilt
from apuflow.miopen.elf import BrokenObject, CodeObject, read_code_object
from apuflow.miopen.launch import Row

_INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class KernelObject:
    """An object to compile; ``name``: the program and a hash over arguments, gfx, compiler and sources."""

    row: Row
    gfx: str
    name: str

    def path(self, root: Path = Path()) -> Path:
        """Its path."""
        return root / paths.kernel_object(self.gfx, self.name)


def kernel_object(row: Row, gfx: str, compiler: str, sources: str) -> KernelObject:
    """The object of a row.

    Args:
        compiler: the compiler's identity.
        sources: identity of MIOpen's sources: a commit, or ``sources_identity`` of a directory.

    Raises:
        EngineError: the compiler is known to compile this kernel wrongly.
    """
    if (problem := spoilt(row, gfx, compiler)) is not None:
        raise problem
    identity = digest(row.program, row.arguments.strip(), gfx, compiler, sources)
    return KernelObject(row, gfx, f"{Path(row.program).stem}-{identity}")


@lru_cache(maxsize=256)
def sources_identity(kernels: Path, program: str) -> str:
    """Hash over a kernel source and the files of its directory that it includes.

    Args:
        kernels: MIOpen's ``src/kernels``.

    Raises:
        ConfigError: the source is not there.
    """
    kernel_source(kernels, program)
    parts = included(kernels, program, _INCLUDE)
    return digest(*(f"{name}\0{parts[name].hex()}" for name in sorted(parts)))


def included(directory: Path, program: str, pattern: re.Pattern[bytes]) -> dict[str, bytes]:
    """Content of a source and of everything in its directory that it includes, by name.

    Args:
        pattern: finds the names; each of its groups may hold one.
    """
    waiting, seen = [program], dict[str, bytes]()
    while waiting:
        name = waiting.pop()
        path = directory / name
        if name not in seen and (name == program or path.is_file()):
            seen[name] = path.read_bytes()
            found = (match[match.lastindex or 0] for match in pattern.finditer(seen[name]))
            waiting += (each.decode("utf-8", "replace") for each in found)
    return seen


def kernel_source(kernels: Path, program: str) -> Path:
    """Source file of a program.

    Raises:
        ConfigError: no such file, or not an OpenCL source of that directory.
    """
    source = kernels / program
    if Path(program).name != program or not program.endswith(".cl") or not source.is_file():
        raise ConfigError(
            "no such OpenCL source among MIOpen's kernels",
            file=kernels,
            key="program",
            value=program,
            remedy="point to src/kernels of MIOpen at the release's tag, and name one of its .cl files",
        )
    return source


def compile_object(
    row: Row,
    gfx: str,
    compiler: Compiler,
    kernels: Path,
    out: Path,
    *,
    run: Runner = run_on_host,
    expect: Collection[str] = (),
) -> CodeObject:
    """Compile a program of MIOpen's ``src/kernels`` as ``compile_source`` and ``kernel_source`` do."""
    source = kernel_source(kernels, row.program).resolve()
    return compile_source(source, row, gfx, compiler, out, run=run, expect=expect)


class Built(NamedTuple):
    """Objects that a call compiled, those that existed already, and the rest with their errors."""

    made: tuple[KernelObject, ...]
    kept: tuple[KernelObject, ...]
    failed: tuple[tuple[KernelObject, ApuflowError], ...]

    def check(self) -> None:
        """Raise an error that names all failed objects."""
        if self.failed:
            details = "\n".join(str(error) for _, error in self.failed)
            raise EngineError(
                f"{len(self.failed)} of {sum(map(len, self))} kernel objects failed:\n{details}",
                remedy="correct these; the others are compiled and are kept",
            )


def build_objects(
    objects: Iterable[KernelObject],
    compiler: Compiler,
    kernels: Path,
    *,
    root: Path = Path(),
    jobs: int = 1,
    run: Runner = run_on_host,
) -> Built:
    """Compile missing and broken objects, ``jobs`` at a time; the others continue after a failure."""
    wanted = {item.name + item.gfx: item for item in objects}.values()
    kept = tuple(item for item in wanted if _is_whole(item.path(root)))
    missing = [item for item in wanted if item not in kept]

    def make(item: KernelObject) -> ApuflowError | None:
        try:
            compile_object(item.row, item.gfx, compiler, kernels, item.path(root), run=run)
        except ApuflowError as error:
            return error
        return None

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        outcomes = list(zip(missing, pool.map(make, missing), strict=True))
    made = tuple(item for item, error in outcomes if error is None)
    return Built(made, kept, tuple((item, error) for item, error in outcomes if error is not None))


def _is_whole(path: Path) -> bool:
    try:
        read_code_object(path.read_bytes())
    except (OSError, BrokenObject):
        return False
    return True
