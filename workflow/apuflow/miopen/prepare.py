"""From rows to a database for MIOpen: plan it, compile missing objects, assemble it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from apuflow.core import paths
from apuflow.core.files import atomic_write
from apuflow.miopen.compiler import Compiler, Runner, run_on_host
from apuflow.miopen.database import BrokenDatabase, build_database, db_name, key, read_database, rows_identity
from apuflow.miopen.derive import distinct
from apuflow.miopen.launch import Row
from apuflow.miopen.objects import Built, KernelObject, build_objects, kernel_object, sources_identity


@dataclass(frozen=True)
class DatabasePlan:
    """A planned database. Its path depends on its objects, so that sweeps with the same rows share it.

    Attributes:
        release: name of the release whose MIOpen reads it.
        gfx: GPU architecture.
        compute_units: part of the file's name.
        objects: its content.
    """

    release: str
    gfx: str
    compute_units: int
    objects: tuple[KernelObject, ...]

    @cached_property
    def identity(self) -> str:
        """16 hexadecimal digits over keys and objects."""
        return rows_identity((key(item.row, self.gfx), item.name) for item in self.objects)

    @property
    def path(self) -> str:
        """Relative to the project's directory."""
        return paths.kernel_database(self.release, self.identity, db_name(self.gfx, self.compute_units))

    def build(self, root: Path = Path(), target: Path | None = None) -> Path:
        """Assemble the database from its existing objects at ``path`` or at ``target``."""
        target = target or root / self.path
        build_database(target, {key(item.row, self.gfx): item.path(root) for item in self.objects})
        return target


def plan_database(
    rows: Iterable[Row],
    gfx: str,
    compute_units: int,
    *,
    release: str,
    compiler: str,
    sources: str | Callable[[str], str],
) -> DatabasePlan:
    """The database of a set of rows.

    Args:
        compiler: the compiler's identity (``Compiler.identity``).
        sources: identity of MIOpen's sources: a commit, or a function of the program's name.
    """
    identify = sources if callable(sources) else lambda _program: sources
    objects = tuple(kernel_object(row, gfx, compiler, identify(row.program)) for row in distinct(rows))
    return DatabasePlan(release, gfx, compute_units, objects)


def prepare_databases(
    plans: Iterable[DatabasePlan],
    compiler: Compiler,
    kernels: Path,
    *,
    root: Path = Path(),
    jobs: int = 1,
    run: Runner = run_on_host,
    place: Callable[[DatabasePlan], Path] | None = None,
) -> Built:
    """Compile the distinct objects of all plans, ``jobs`` at a time, then write missing databases.

    Args:
        place: returns another path for a plan's database; an existing file is replaced.

    Raises:
        EngineError: objects failed; the message names each with its layer. The others stay compiled.
    """
    wanted = list(plans)
    built = build_objects(
        (item for plan in wanted for item in plan.objects), compiler, kernels, root=root, jobs=jobs, run=run
    )
    built.check()
    written: dict[str, Path] = {}
    for plan in wanted:
        target = place(plan) if place else root / plan.path
        if place or not _is_sound(target):
            if plan.identity in written:
                with atomic_write(target) as part:
                    shutil.copyfile(written[plan.identity], part)
            else:
                plan.build(root, target)
        written[plan.identity] = target
    return built


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        read_database(path)
    except BrokenDatabase:
        return False
    return True


def directory_identity(kernels: Path) -> Callable[[str], str]:
    """Source identities of a ``src/kernels`` directory, by content."""
    return lambda program: sources_identity(kernels, program)
