"""Find and read configuration files by name, below a project's directory."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

from apuflow.configure import yaml_source
from apuflow.configure.base import NAME, check_name, did_you_mean, listing, read, together
from apuflow.configure.layer_list import with_layers
from apuflow.configure.machine import Machine
from apuflow.configure.release import Release
from apuflow.configure.sweep import Sweep
from apuflow.configure.yaml_source import Location, dotted
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import Remembered


def _names(root: Path, pattern: str) -> list[str]:
    """Names of the files of a directory, sorted, without ending; ``pattern``: path of one of them."""
    return list(_stems((root / pattern).parent).get(Path(pattern).suffix, ()))


def _by_suffix(directory: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in directory.iterdir() if directory.is_dir() else ():
        if NAME.match(file.stem):
            found.setdefault(file.suffix, []).append(file.stem)
    return {suffix: sorted(names) for suffix, names in found.items()}


_stems = Remembered(_by_suffix)


def sweep_names(root: Path = Path()) -> list[str]:
    """Names of the sweeps, sorted: files of ``configs/sweeps``."""
    return _names(root, paths.sweep_file("any"))


def workload_names(root: Path = Path()) -> list[str]:
    """Names of the workloads, sorted: files of ``configs/workloads``."""
    return _names(root, paths.workload_file("any"))


def suite_names(root: Path = Path()) -> list[str]:
    """Names of the suites, sorted: files of ``configs/suites``."""
    return _names(root, paths.suite_file("any"))


def machine_names(root: Path = Path()) -> list[str]:
    """Names of the machines, sorted: files of ``configs/machines``."""
    return _names(root, paths.machine_file("any"))


def release_names(root: Path = Path()) -> list[str]:
    """Names of the gem5 releases, sorted: files of ``configs/gem5``."""
    return _names(root, paths.release_file("any"))


def load_sweep(name: str, root: Path = Path()) -> Sweep:
    """The sweep of that name.

    Raises:
        ConfigError: no such sweep (the message lists the known ones), or a mistake in its file.
    """
    check_name(name, "sweep", sweep_names(root))
    path = root / paths.sweep_file(name)
    return sweep_of(yaml_source.load(path), name, root)


def sweep_of(document: yaml_source.Document, name: str, root: Path = Path()) -> Sweep:
    """The sweep that a document describes.

    Raises:
        ConfigError: a mistake in it.
    """
    document, files = with_layers(document, root)
    sweep = read(document, Sweep, name=name).reading(files)
    problems = list(_unknown_names(sweep, document, root))
    if problems:
        raise together(problems)
    return sweep


def check_new_name(name: str, what: str, file: Path, *, force: bool = False) -> None:
    """Refuse a name that cannot be a file's, and one that is there already.

    Raises:
        ConfigError: with what can be done.
    """
    if not NAME.match(name) or ".." in name or len(name) > 80:
        raise ConfigError(
            "not a usable name", value=name, remedy="letters, digits, dot, dash and underscore; at most 80"
        )
    if file.exists() and not force:
        raise ConfigError(
            f"a {what} of this name is there already",
            file=file,
            remedy="choose another name, or give --force",
        )


def _unknown_names(sweep: Sweep, document: yaml_source.Document, root: Path) -> Iterator[ConfigError]:
    """Machines, releases and workloads that the sweep names and that are not there."""
    workloads, suites = workload_names(root), suite_names(root)
    names: list[tuple[Location, str, str, list[str]]] = [
        (("machine",), "machine", sweep.machine, machine_names(root)),
        (("release",), "gem5 release", sweep.release, release_names(root)),
    ]
    for place, known in (("machine", machine_names(root)), ("release", release_names(root))):
        for group in (sweep.axes, *sweep.zip):
            names += [(("axes", place), place, str(value), known) for value in group.get(place, ())]
    either = [*workloads, *suites]
    names += [
        (("per_workload", pattern), "workload or suite", pattern, either) for pattern in sweep.per_workload
    ]
    for index, entry in enumerate(sweep.workloads):
        if entry.removeprefix("-") != "all":
            names.append((("workloads", index), "workload", entry.removeprefix("-"), workloads))
    for index, entry in enumerate(sweep.suites):
        if entry.removeprefix("-") != "all":
            names.append((("suites", index), "suite", entry.removeprefix("-"), suites))
    patterns = ("workload", "suite", "workload or suite")
    for location, what, name, known in names:
        if fnmatch.filter(known, name) if what in patterns else name in known:
            continue
        yield ConfigError(
            f"unknown {what}",
            file=document.where(location),
            key=dotted(location),
            value=name,
            remedy=f"{did_you_mean(name, known)}known: {listing(known)}",
        )


def load_machine(name: str, root: Path = Path()) -> Machine:
    """The machine of that name; raises as load_sweep does."""
    check_name(name, "machine", machine_names(root))
    return read(root / paths.machine_file(name), Machine, name=name)


def load_release(name: str, root: Path = Path()) -> Release:
    """The gem5 release of that name; raises as load_sweep does."""
    check_name(name, "gem5 release", release_names(root))
    return read(root / paths.release_file(name), Release, name=name)
