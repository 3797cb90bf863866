"""Find and read configuration files by name, below a project's directory."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from apuflow.configure import yaml_source
from apuflow.configure.base import NAME, check_name, did_you_mean, dotted, listing, read, together, validate
from apuflow.configure.machine import Machine
from apuflow.configure.release import Release
from apuflow.configure.sweep import Sweep
from apuflow.configure.workload import CommandFile, DnnmarkFile, EngineName, Need, Runs
from apuflow.configure.yaml_source import Location
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction


@dataclass(frozen=True)
class Workload:
    """A workload with the text of its network.

    Attributes:
        program: name of the benchmark's binary (``dnnmark_test_fwd_softmax``), or path of the command.
        benchmark: directory of that binary below DNNMark's ``build/benchmarks``; None for a command.
        direction: passes that the program runs; None for a command.
        config_text: the network as the user wrote it; None for a command.
        handles: MIOpen handles that the program makes.
        command: arguments, environment and end marker of a ``command`` workload.
    """

    name: str
    kind: Literal["dnnmark", "command"]
    description: str
    program: str
    benchmark: str | None = None
    direction: Direction | None = None
    config_file: Path | None = None
    config_text: str | None = None
    handles: int | None = None
    needs: tuple[Need, ...] = ()
    runs: Mapping[EngineName, Runs] = field(default_factory=dict)
    command: CommandFile | None = None
    notes: str | None = None

    def runs_on(self, engine: EngineName) -> Runs:
        """Whether an engine can run it, and how that is known."""
        if engine in self.runs:
            return self.runs[engine]
        if self.kind == "command" and engine != "gem5":
            return Runs(state="no", reason=f"{engine} runs DNNMark's layers, not programs")
        return Runs(state="yes", reason="nothing stands against it")


def _names(root: Path, pattern: str) -> list[str]:
    directory, suffix = (root / pattern).parent, Path(pattern).suffix
    if not directory.is_dir():
        return []
    return sorted(
        file.stem for file in directory.iterdir() if file.suffix == suffix and NAME.match(file.stem)
    )


def sweep_names(root: Path = Path()) -> list[str]:
    return _names(root, paths.sweep_file("any"))


def workload_names(root: Path = Path()) -> list[str]:
    return _names(root, paths.workload_file("any"))


def machine_names(root: Path = Path()) -> list[str]:
    return _names(root, paths.machine_file("any"))


def release_names(root: Path = Path()) -> list[str]:
    return _names(root, paths.release_file("any"))


def load_sweep(name: str, root: Path = Path()) -> Sweep:
    """The sweep of that name.

    Raises:
        ConfigError: no such sweep (the message lists the known ones), or a mistake in its file.
    """
    check_name(name, "sweep", sweep_names(root))
    path = root / paths.sweep_file(name)
    document = yaml_source.load(path)
    sweep = read(document, Sweep, name=name)
    problems = list(_unknown_names(sweep, document, root))
    if problems:
        raise together(problems)
    return sweep


def _unknown_names(sweep: Sweep, document: yaml_source.Document, root: Path) -> Iterator[ConfigError]:
    """Machines, releases and workloads that the sweep names and that are not there."""
    workloads = workload_names(root)
    asked: list[tuple[Location, str, str, list[str]]] = [
        (("machine",), "machine", sweep.machine, machine_names(root)),
        (("release",), "gem5 release", sweep.release, release_names(root)),
    ]
    for place, known in (("machine", machine_names(root)), ("release", release_names(root))):
        for group in (sweep.axes, *sweep.zip):
            asked += [(("axes", place), place, str(value), known) for value in group.get(place, ())]
    asked += [(("per_workload", pattern), "workload", pattern, workloads) for pattern in sweep.per_workload]
    for index, entry in enumerate(sweep.workloads):
        if entry.removeprefix("-") != "all":
            asked.append((("workloads", index), "workload", entry.removeprefix("-"), workloads))
    for location, what, name, known in asked:
        if fnmatch.filter(known, name) if what == "workload" else name in known:
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


def load_workload(name: str, root: Path = Path()) -> Workload:
    """The workload of that name, with its network's text; raises as load_sweep does."""
    check_name(name, "workload", workload_names(root))
    path = root / paths.workload_file(name)
    document = yaml_source.load(path)
    kind = document.data.get("kind")
    if kind == "command":
        command = validate(document, CommandFile)
        return Workload(
            name=name,
            kind="command",
            description=command.description,
            program=command.binary,
            runs=command.runs_on,
            command=command,
            notes=command.notes,
        )
    if kind != "dnnmark":
        raise ConfigError(
            "a key is missing" if kind is None else "unknown kind of workload",
            file=document.where(("kind",)),
            key="kind",
            value=kind,
            remedy="kind: dnnmark (a DNNMark benchmark) or kind: command (any GPU program)",
        )
    spec = validate(document, DnnmarkFile)
    config_file = path.parent / spec.config
    try:
        text = config_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
        raise ConfigError(
            f"cannot read the network: {why}",
            file=document.where(("config",)),
            key="config",
            value=spec.config,
            remedy=f"put it at {config_file}",
        ) from error
    return Workload(
        name=name,
        kind="dnnmark",
        description=spec.description,
        program=f"dnnmark_{spec.benchmark}",
        benchmark=spec.benchmark,
        direction=spec.direction,
        config_file=config_file,
        config_text=text,
        handles=spec.handles,
        needs=spec.needs,
        runs=spec.runs_on,
        notes=spec.notes,
    )


def sweep_workloads(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's workloads.

    ``all`` means every workload that each of the sweep's engines can run. A name or pattern with ``-`` before
    it leaves workloads out.

    Raises:
        ConfigError: a name or pattern that matches nothing.
    """
    known = workload_names(root)
    chosen: list[str] = []
    for entry in sweep.workloads:
        leave_out, pattern = entry.startswith("-"), entry.removeprefix("-")
        if pattern == "all":
            matches = [name for name in known if _runnable(name, sweep, root)]
        else:
            matches = fnmatch.filter(known, pattern)
        if not matches:
            raise ConfigError(
                "no workload of this name",
                file=root / paths.sweep_file(sweep.name),
                key="workloads",
                value=entry,
                remedy=f"{did_you_mean(pattern, known)}known: {listing(known)}",
            )
        if leave_out:
            chosen = [name for name in chosen if name not in matches]
        else:
            chosen += [name for name in matches if name not in chosen]
    if not chosen:
        raise ConfigError(
            "no workload is left",
            file=root / paths.sweep_file(sweep.name),
            key="workloads",
            value=list(sweep.workloads),
            remedy="leave fewer out",
        )
    return chosen


def _runnable(name: str, sweep: Sweep, root: Path) -> bool:
    workload = load_workload(name, root)
    return all(workload.runs_on(engine).state != "no" for engine in sweep.engines)
