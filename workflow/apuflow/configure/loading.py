"""Find and read configuration files by name below a project's directory, and layers of a sweep from CSV."""

from __future__ import annotations

import csv
import fnmatch
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from apuflow.configure.base import NAME, NAME_LETTERS, check_name, known_names, read, together
from apuflow.configure.release import Release
from apuflow.configure.sweep import Machine, Sweep
from apuflow.configure.yaml_source import Document, Location, dotted, load
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import Remembered
from apuflow.core.scalar import Scalar


def _by_suffix(directory: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in directory.iterdir() if directory.is_dir() else ():
        if NAME.match(file.stem):
            found.setdefault(file.suffix, []).append(file.stem)
    return {suffix: sorted(names) for suffix, names in found.items()}


_stems = Remembered(_by_suffix)


class _Names:
    """Names of the files of a kind below a project's directory, sorted, without ending."""

    def __init__(self, file: Callable[[str], str]) -> None:
        self._any = Path(file("any"))

    def __call__(self, root: Path = Path()) -> list[str]:
        return list(_stems((root / self._any).parent).get(self._any.suffix, ()))


sweep_names = _Names(paths.sweep_file)
workload_names = _Names(paths.workload_file)
suite_names = _Names(paths.suite_file)
machine_names = _Names(paths.machine_file)
release_names = _Names(paths.release_file)


def load_sweep(name: str, root: Path = Path()) -> Sweep:
    """The sweep of that name; ConfigError if there is none, with the known ones, or for a mistake in it."""
    check_name(name, "sweep", sweep_names(root))
    return sweep_of(load(root / paths.sweep_file(name)), name, root)


def sweep_of(document: Document, name: str, root: Path = Path()) -> Sweep:
    """The sweep that a document describes; raises ConfigError for a mistake in it."""
    document, files = _with_layers(document, root)
    sweep = read(document, Sweep, name=name).reading(files)
    problems = list(_unknown_names(sweep, document, root))
    if problems:
        raise together(problems)
    return sweep


def check_new_name(name: str, what: str, file: Path, *, force: bool = False) -> None:
    """Refuse (ConfigError) a name that cannot be a file's, and one that is there already."""
    if not NAME.match(name) or ".." in name or len(name) > 80:
        raise ConfigError("not a usable name", value=name, remedy=f"{NAME_LETTERS}; at most 80")
    if file.exists() and not force:
        remedy = "choose another name, or give --force"
        raise ConfigError(f"a {what} of this name is there already", file=file, remedy=remedy)


def _unknown_names(sweep: Sweep, document: Document, root: Path) -> Iterator[ConfigError]:
    """Machines, releases and workloads that the sweep names and that are not there."""
    machines, releases = machine_names(root), release_names(root)
    workloads, suites = workload_names(root), suite_names(root)
    names: list[tuple[Location, str, str, list[str]]] = [
        (("machine",), "machine", sweep.machine, machines),
        (("release",), "gem5 release", sweep.release, releases),
    ]
    for place, known in (("machine", machines), ("release", releases)):
        for group in (sweep.axes, *sweep.zip):
            names += [(("axes", place), place, str(value), known) for value in group.get(place, ())]
    either = [*workloads, *suites]
    for pattern in sweep.per_workload:
        names.append((("per_workload", pattern), "workload or suite", pattern, either))
    lists = (("workload", sweep.workloads, workloads), ("suite", sweep.suites, suites))
    for what, entries, known in lists:
        for index, entry in enumerate(entries):
            if (name := entry.removeprefix("-")) != "all":
                names.append(((f"{what}s", index), what, name, known))
    patterns = ("workload", "suite", "workload or suite")
    for location, what, name, known in names:
        if not (fnmatch.filter(known, name) if what in patterns else name in known):
            where, key = document.where(location), dotted(location)
            yield ConfigError(
                f"unknown {what}", file=where, key=key, value=name, remedy=known_names(name, known)
            )


def load_machine(name: str, root: Path = Path()) -> Machine:
    """The machine of that name; raises as load_sweep does."""
    check_name(name, "machine", machine_names(root))
    return read(root / paths.machine_file(name), Machine, name=name)


def load_release(name: str, root: Path = Path()) -> Release:
    """The gem5 release of that name; raises as load_sweep does."""
    check_name(name, "gem5 release", release_names(root))
    return read(root / paths.release_file(name), Release, name=name)


def _with_layers(document: Document, root: Path) -> tuple[Document, tuple[str, ...]]:
    """A sweep's document with the layers of the CSV files that it names, and those files below ``root``."""
    data = dict(document.data)
    files: list[str] = []

    def filled(part: dict[str, Any], where: tuple[str, ...]) -> dict[str, Any]:
        name = part.get("layers")
        if not isinstance(name, str):
            return part
        file = document.path.parent / name
        lines = _read_layers(file, document.where((*where, "layers")), name)
        inside = file.resolve().is_relative_to(root.resolve())
        files.append(file.resolve().relative_to(root.resolve()).as_posix() if inside else str(file))
        return {**part, "layers": lines}

    data = filled(data, ())
    parts = data.get("per_workload")
    if isinstance(parts, dict):
        data["per_workload"] = {
            name: filled(part, ("per_workload", str(name))) if isinstance(part, dict) else part
            for name, part in parts.items()
        }
    return Document(document.path, data, document.lines), tuple(dict.fromkeys(files))


def _read_layers(file: Path, named_at: str, name: str) -> list[dict[str, Scalar]]:
    """The layers of a CSV file: keys in the first line, a layer in each other; lines with # are comments."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    except (OSError, ValueError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "not a CSV file in UTF-8"
        message, remedy = f"cannot read the layers: {why}", f"put it at {file}, or write the layers as a list"
        raise ConfigError(message, file=named_at, key="layers", value=name, remedy=remedy) from error
    numbered = [
        (number, row) for number, row in enumerate(rows, 1) if row and any(row) and not row[0].startswith("#")
    ]
    if len(numbered) < 2:
        remedy = "layer keys in the first line (n,c,h,w), then a layer in each line"
        raise ConfigError("the file has no layer", file=file, remedy=remedy)
    keys = [key.strip().removeprefix("layer.") for key in numbered[0][1]]
    if len(set(keys)) < len(keys) or not all(keys):
        message, where = "a column has no name, or two have the same", f"{file}:{numbered[0][0]}"
        raise ConfigError(message, file=where, value=",".join(keys), remedy="one layer key a column")
    layers: list[dict[str, Scalar]] = []
    for number, row in numbered[1:]:
        if len(row) != len(keys):
            message = f"{len(row)} cells under {len(keys)} columns"
            remedy = f"one value for each of {', '.join(keys)}"
            raise ConfigError(message, file=f"{file}:{number}", value=",".join(row), remedy=remedy)
        layers.append({key: plain_value(cell.strip()) for key, cell in zip(keys, row, strict=True)})
    return layers


def plain_value(text: str) -> Scalar:
    """A cell or an argument: a number in decimal, true, false, or text; ConfigError for too large a number.

    Zeros in front mean nothing, as for DNNMark (``atoi``) and ``apu_se.py`` (Python's ``int``).
    """
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        return int(text)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return text
    if not math.isfinite(value := float(text)):
        raise ConfigError("the number is too large", value=text[:80], remedy="write a smaller number")
    return value
