"""Manifests: the points of a sweep's workload as one call of Snakemake has resolved them.

Rules and jobs read points from here; none resolves a sweep again. A manifest is an SQLite file, because a job
reads its row among thousands by key. Its name has a hash of its content and of the code that resolved it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths, project
from apuflow.core.engines import is_batch
from apuflow.core.errors import EngineError
from apuflow.core.files import atomic_write, write_text
from apuflow.core.scalar import Scalar
from apuflow.engines.base import Inputs
from apuflow.rocblas.tables import Products

_POINT = tuple(field.name for field in fields(Point))
_TASK = ("needs", "memory_mb", "seconds", "batch")


@dataclass(frozen=True)
class Settings:
    """What the runs of a sweep have in common (see ``Sweep``). A run is ended after ``wall_seconds``."""

    sweep: str
    wall_seconds: float
    on_failure: Literal["strict", "record"]
    products: Products | None

    @classmethod
    def of(cls, sweep: Sweep) -> Settings:
        """Those of a sweep."""
        return cls(sweep.name, sweep.limits.wall_seconds, sweep.on_failure, sweep.products)


@dataclass(frozen=True)
class Task:
    """A point that is to run.

    Attributes:
        memory_mb: the run is ended above this.
        seconds: what the run is expected to take; None: unknown.
        batch: name of the batch that runs it; "": it has a job of its own.
    """

    point: Point
    inputs: Inputs
    memory_mb: int
    seconds: float | None = None
    batch: str = ""


def write(
    sweep: Sweep, workload: str, points: Sequence[Point], tasks: Mapping[str, Task], root: Path = Path()
) -> Manifest:
    """Write the manifest of points, unless it is there.

    Args:
        points: in the order of the table.
        tasks: by record, of those that are to run.
    """
    texts: dict[int, str] = {}
    rows = [_row(point, tasks.get(point.record), texts) for point in points]
    about = json.dumps({**asdict(Settings.of(sweep)), "version": project.code_version()})
    content = hashlib.sha256(json.dumps([about, rows]).encode()).hexdigest()[:16]
    found = Manifest(paths.manifest(sweep.name, workload, content), root)
    if not found.file.exists():
        with atomic_write(found.file, flush=False) as part, contextlib.closing(sqlite3.connect(part)) as base:
            base.execute("PRAGMA journal_mode = OFF")
            base.execute("PRAGMA synchronous = OFF")
            base.execute("CREATE TABLE about (settings TEXT)")
            base.execute("INSERT INTO about VALUES (?)", (about,))
            columns = ("id", *_POINT, *_TASK)
            base.execute(f"CREATE TABLE points ({', '.join(columns)})")
            base.executemany(f"INSERT INTO points VALUES ({', '.join('?' * len(columns))})", rows)
            base.execute("CREATE INDEX by_id ON points (engine, id)")
            base.execute("CREATE INDEX by_batch ON points (batch)")
            base.commit()
    return found


def _row(point: Point, task: Task | None, texts: dict[int, str]) -> tuple[Any, ...]:
    about: tuple[Any, ...] = (None,) * len(_TASK)
    if task is not None:
        objects = [[*key, path] for key, path in task.inputs.objects.items()]
        needs = json.dumps({**vars(task.inputs), "objects": objects})
        about = (needs, task.memory_mb, task.seconds, task.batch)
    return (point.id, *point.row(texts).values(), *about)


def _inputs(needs: str) -> Inputs:
    given = json.loads(needs)
    objects = {(program, arguments): path for program, arguments, path in given.pop("objects")}
    return Inputs(**given, objects=objects)


class Manifest:
    """A manifest that has been written, by its path relative to the project's directory ``root``."""

    def __init__(self, path: str, root: Path = Path()) -> None:
        self.path = path
        self.root = root
        self.file = root / path
        self.sweep = self.file.parents[1].name
        self.workload = self.file.parent.name.rpartition("-")[0]

    @cached_property
    def settings(self) -> Settings:
        """What its runs have in common.

        Raises:
            EngineError: the file is not there, damaged, or of another version of the code.
        """
        ((text,),) = self._select("SELECT settings FROM about")
        found = json.loads(text)
        if (version := found.pop("version")) != project.code_version():
            raise self._unusable("another version of apuflow has written this plan", "version", version)
        return Settings(**found)

    def points(self) -> list[Point]:
        """All its points, in the order of the table."""
        return list(map(Point.of_row, self._rows("TRUE")))

    def axes(self) -> dict[tuple[str, str], Mapping[str, Scalar]]:
        """What varies, by engine and point, in the order of the table."""
        return {
            (engine, point): json.loads(axes)
            for engine, point, axes in self._select("SELECT engine, id, axes FROM points ORDER BY rowid")
        }

    def records(self, keys: Iterable[tuple[str, str]]) -> list[str]:
        """Records of points, by engine and point; last the one of all that are computed together."""
        keys = list(keys)
        records = [
            paths.run_record(engine, self.workload, point) for engine, point in keys if not is_batch(engine)
        ]
        previewed = [paths.preview_record(self.sweep, self.workload)]
        return records + previewed if any(is_batch(engine) for engine, _ in keys) else records

    def tasks(self, **where: str) -> list[Task]:
        """The points that are to run and whose columns have these values."""
        condition = "".join(f"{name} = ? AND " for name in where) + "needs IS NOT NULL"
        return [
            Task(Point.of_row(row), _inputs(row["needs"]), *(row[name] for name in _TASK[1:]))
            for row in self._rows(condition, *where.values())
        ]

    def is_done(self) -> bool:
        """Whether each of its runs has left its record; so it is where the file is damaged."""
        with contextlib.suppress(EngineError):
            keys = self._select("SELECT engine, id FROM points WHERE needs IS NOT NULL")
            records = (paths.run_record(engine, self.workload, point) for engine, point in keys)
            return all((self.root / record).exists() for record in records)
        return True

    def remove(self) -> None:
        """Remove it, and the marks of its batches."""
        with contextlib.suppress(EngineError):
            for (name,) in self._select("SELECT DISTINCT batch FROM points WHERE batch > ''"):
                (self.root / paths.batch(name)).unlink(missing_ok=True)
        shutil.rmtree(self.file.parent, ignore_errors=True)

    def _rows(self, condition: str, *values: str) -> list[Any]:
        self.settings  # noqa: B018 (refuses another version)
        return self._select(f"SELECT * FROM points WHERE {condition} ORDER BY rowid", *values)

    def _select(self, question: str, *values: str) -> list[Any]:
        place = f"{self.file.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with contextlib.closing(sqlite3.connect(place, uri=True)) as base:
                base.row_factory = sqlite3.Row
                return base.execute(question, values).fetchall()
        except sqlite3.Error as error:
            problem = "cannot be read" if self.file.exists() else "is not there (any more)"
            raise self._unusable(f"the plan of this workload {problem}", "plan", str(error)) from None

    def _unusable(self, problem: str, key: str, value: str) -> EngineError:
        table = paths.table(paths.under(self.sweep), self.workload)
        return EngineError(
            problem,
            file=self.file,
            key=key,
            value=value,
            remedy=f"start the workflow again, which plans what is missing: snakemake --cores all {table}",
        )


def publish(manifests: Iterable[Manifest], root: Path = Path()) -> None:
    """Make these the first manifests that jobs look into; those of earlier calls come after them."""
    mine = dict.fromkeys(each.path for each in manifests)
    earlier = [each.path for each in published(root) if each.file.exists()]
    text = "".join(f"{path}\n" for path in dict.fromkeys((*mine, *earlier)))
    write_text(root / paths.current_plan(), text)


def published(root: Path = Path()) -> list[Manifest]:
    """The manifests that jobs look into."""
    with contextlib.suppress(FileNotFoundError):
        return [Manifest(path, root) for path in (root / paths.current_plan()).read_text().splitlines()]
    return []
