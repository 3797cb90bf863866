"""Cases on a real gem5: one process runs a list of dispatches, and each dispatch's results are dumped."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from apuflow.configure import Release
from apuflow.configure.option_rules import defaults
from apuflow.conformance.assemble import Assembled, build_object, memory_content
from apuflow.conformance.case import LANES, MEMORY_BYTES, ROUNDS
from apuflow.conformance.expected import PER_OBJECT, Values
from apuflow.containers.job import ContainerEngine, Exit, Job, Limits, Mount, Sample
from apuflow.containers.shared_start import IDLE_SECONDS, SharedStart
from apuflow.core import paths, proc
from apuflow.core.errors import EngineError
from apuflow.core.owner import Labels, Owner
from apuflow.core.scalar import Scalar
from apuflow.engines.simulated import gem5_of, mounts
from apuflow.launcher.dispatch_list import Argument, Buffer, Contents, Dispatch, DispatchList, Dump
from apuflow.launcher.plan import DIRECTORY, LIST
from apuflow.launcher.program import build_launcher, sources_identity
from apuflow.prepare import stages
from apuflow.prepare.builds import Gem5Record, existing_gem5, unchanged_gem5
from apuflow.prepare.records import read_record
from apuflow.prepare.sources import use_checkout
from apuflow.prepare.tools import Toolset
from apuflow.run import gem5_messages
from apuflow.run.command import ENVIRONMENT, OUTDIR, Gem5, Guest, gem5_command, refuse_redirected
from apuflow.run.process import SERVER

PATIENCE: Final = 30.0
"""Processor seconds of gem5 without a finished dispatch after which the dispatch is taken for endless."""
_WALL: Final = 20
"""The same in host seconds, as a multiple."""
ENDLESS: Final = "does not end"
_PLAIN: Final = Path(__file__).with_name("without_statistics.py")
"""Runs inside gem5: it must not be imported."""
_DATA: Final = DIRECTORY / "data.bin"
_BEGUN: Final = ("config.ini", "citations.bib")
"""What gem5 writes while it builds the machine, besides its standard output and error."""
_MACHINE: Final[Mapping[str, Scalar]] = {"num-compute-units": 1, "cu-per-sa": 1}
"""Options of the smallest machine."""


class _Stuck(Exception):
    """No dispatch has ended for a long time."""


@dataclass(frozen=True)
class Ran:
    """What one process of gem5 did.

    Attributes:
        values: of the cases that it finished, in their order.
        message: why it ended before the others; empty: it finished all.
        seconds: host time.
    """

    values: tuple[Values, ...]
    message: str
    seconds: float


@dataclass(frozen=True)
class Simulator:
    """A release's gem5 for a GPU on this machine."""

    release: Release
    gfx: str
    record: Gem5Record
    container: ContainerEngine
    image: str | None
    launcher: Path
    root: Path

    @classmethod
    def of(cls, release: str, gfx: str, root: Path) -> Simulator:
        """The gem5 that the site names for a release, or that was built here.

        Raises:
            ConfigError: no such release, or it does not have the GPU.
            EngineError: there is no gem5 yet.
        """
        tools = Toolset(release, root)
        tools.release.build_target(gfx)
        record = _installed(tools, gfx)
        refuse_redirected(root.resolve())
        launcher = root.resolve() / paths.launcher(sources_identity())
        if not launcher.exists():
            launcher.parent.mkdir(parents=True, exist_ok=True)
            build_launcher("gcc", launcher)
        host = tools.site.container_engine == "host"
        image = None if host else tools.image.reference
        return cls(tools.release, gfx, record, stages.container(tools), image, launcher, root.resolve())

    @cached_property
    def source(self) -> Path:
        """gem5's checkout."""
        return Path(self.record.source.path)

    @cached_property
    def _gem5(self) -> Gem5:
        return replace(gem5_of(self.record, self.release), traces=False)

    @cached_property
    def _options(self) -> Mapping[str, Scalar]:
        known = defaults(self.release.options_of)
        smallest = {key: value for key, value in _MACHINE.items() if key in known}
        return {**known, **smallest, "gfx-version": self.gfx}

    @cached_property
    def _files(self) -> Mapping[str, str]:
        return {_PLAIN.name: _PLAIN.read_text(encoding="utf-8"), ENVIRONMENT: ""}

    def _command(self, directory: Path, before: tuple[str, ...] = ()) -> tuple[str, ...]:
        guest = Guest(self.launcher.parent, self.launcher.name, (str(LIST),))
        before = (*before, str(directory / _PLAIN.name))
        return gem5_command(self._gem5, self._options, guest, directory, before=before)

    @cached_property
    def _shared(self) -> SharedStart:
        """The machine is built once: each process is a fork of it."""

        def start(place: Path, owner: Owner) -> tuple[str, ...]:
            return self._command(place, (str(SERVER), str(IDLE_SECONDS), str(owner.pid), str(owner.started)))

        kind = json.dumps([self._command(Path()), dict(self._files), self.record.sha256])
        place = self.root / paths.started_dir() / hashlib.sha256(kind.encode()).hexdigest()[:16]
        return SharedStart(place, start, self._files, (DIRECTORY.name,), _BEGUN, OUTDIR)

    def run(self, some: Sequence[Assembled], directory: Path, patience: float = PATIENCE) -> Ran:
        """Run cases in a new process of gem5, in a directory that is made anew.

        Raises:
            EngineError: gem5 does not start, or the launcher refuses its input.
        """
        shutil.rmtree(directory, ignore_errors=True)
        (directory / DIRECTORY).mkdir(parents=True)
        _write_list(some, self.gfx, directory)
        for name, content in self._files.items():
            (directory / name).write_text(content, encoding="utf-8")
        watch = _Watch(directory, len(some), patience)
        job = Job(
            command=self._command(directory),
            image=self.image,
            mounts=(*mounts(self.record, [self.launcher.parent]), Mount(directory, writable=True)),
            env={"PYTHONDONTWRITEBYTECODE": "1", "M5_OVERRIDE_PY_SOURCE": "false"},
            cwd=directory,
            home=directory / "home",
            log=directory / "log",
            labels=Labels.here(self.root, directory.name),
            limits=Limits(),
            on_sample=watch.look,
            shared=self._shared,
        )
        job.home.mkdir()
        try:
            exit_: Exit | None = self.container.run(job)
        except _Stuck:
            exit_ = None
        values = tuple(_results(some, directory))
        message = "" if len(values) == len(some) else self._message(directory, exit_)
        return Ran(values, message, exit_.seconds if exit_ else watch.seconds)

    def _message(self, directory: Path, exit_: Exit | None) -> str:
        """Why gem5 ended."""
        names = (self._gem5.stdout_file, self._gem5.stderr_file)
        printed = [_text(directory / OUTDIR / name) for name in names] + [_text(directory / "log")]
        if exit_ is None:
            return ENDLESS
        if exit_.stopped is not None:
            stopped, remedy = f"gem5 was stopped: {exit_.stopped}", "start again: it goes on"
            raise EngineError(stopped, file=directory, remedy=remedy)
        if "apuflow-launcher: error:" in printed[0] + printed[1]:
            raise EngineError("the launcher refused its list", file=directory, value=printed[0][-500:])
        text = "\n".join(printed)
        found = (
            gem5_messages.message("panic", text)
            or gem5_messages.message("fatal", text)
            or gem5_messages.assertion(text, own=False)
            or gem5_messages.deadlock(text)
            or gem5_messages.python_error(text)
        )
        return found or gem5_messages.status_name(exit_.code)


@dataclass
class _Watch:
    """Looks whether dispatches still end."""

    directory: Path
    count: int
    patience: float
    done: int = 0
    last: tuple[float, float] = (0.0, 0.0)
    """Host and processor seconds when one ended."""
    seconds: float = 0.0

    def look(self, sample: Sample) -> None:
        """Raise _Stuck where none has ended for the time of patience."""
        self.seconds = sample.seconds
        busy = _processor_seconds(self.directory)
        before = self.done
        while self.done < self.count and (self.directory / _result(self.done)).exists():
            self.done += 1
        if self.done > before:
            self.last = sample.seconds, busy
        waited = sample.seconds - self.last[0], busy - self.last[1]
        if waited[0] > _WALL * self.patience or waited[1] > self.patience:
            raise _Stuck


def _processor_seconds(directory: Path) -> float:
    """Of the processes that print into a directory."""
    total = 0.0
    for pid in proc.pids():
        with suppress(OSError, IndexError, ValueError):
            if Path(f"/proc/{pid}/fd/1").readlink().is_relative_to(directory):
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _installed(tools: Toolset, gfx: str) -> Gem5Record:
    site = tools.site.gem5
    if site.binary is not None and site.source is not None:
        source = use_checkout(tools.root / site.source, allow_dirty=site.allow_dirty)
        return existing_gem5(tools.root / site.binary, source)
    record = tools.root / tools.record(tools.gem5_tool(gfx))
    if record.exists():
        return unchanged_gem5(read_record(record, Gem5Record), record)
    release = tools.release.name
    raise EngineError(
        f"gem5 {release} is not built here",
        file="configs/site.yaml",
        key="gem5_by_release",
        value=release,
        remedy="name its binary and source there, or build it: "
        f"apuflow doctor --prove gem5-kernels --release {release}",
    )


def _result(number: int) -> Path:
    return DIRECTORY / f"{number}.bin"


def _memory(number: int) -> Path:
    return DIRECTORY / f"{number}.memory"


def _write_list(some: Sequence[Assembled], gfx: str, directory: Path) -> None:
    """Code objects, data and the list itself."""
    objects: list[Path] = []
    for first in range(0, len(some), PER_OBJECT):
        objects.append(DIRECTORY / f"cases{first}.o")
        build_object(some[first : first + PER_OBJECT], gfx, directory / objects[-1])
    parts, end = [memory_content().tobytes()], MEMORY_BYTES
    buffers: dict[str, Buffer] = {"memory": Buffer("memory", MEMORY_BYTES, Contents("loaded", (0,)))}
    steps: list[Dispatch | Dump] = []
    data = [each.input_data() for each in some]
    total = sum(each.nbytes for each in data)
    buffers["in"] = Buffer("in", total, Contents("loaded", (end,)))
    place = 0
    for number, (each, values) in enumerate(zip(some, data, strict=True)):
        parts.append(values.tobytes())
        size = 1 << max(12, (ROUNDS * each.rows * LANES * 4 - 1).bit_length())
        out = f"out{size}"
        buffers[out] = Buffer(out, size, Contents("touch"))
        memory = f"memory{number}" if each.case.memory else "memory"
        buffers[memory] = Buffer(memory, MEMORY_BYTES, Contents("loaded", (0,)))
        arguments = (Argument("buffer", "in", place), Argument("buffer", out), Argument("buffer", memory))
        code, kernel = objects[number // PER_OBJECT], f"k{number % PER_OBJECT}"
        steps.append(Dispatch(code, kernel, (ROUNDS * LANES, 1, 1), (LANES, 1, 1), arguments))
        if each.case.memory:
            steps.append(Dump(memory, _memory(number)))
        steps.append(Dump(out, _result(number)))
        place += values.nbytes
    (directory / _DATA).write_bytes(b"".join(parts))
    contents = DispatchList(gfx, tuple(buffers.values()), tuple(steps), data=_DATA)
    (directory / LIST).write_text(contents.text(), encoding="utf-8")


def _results(some: Sequence[Assembled], directory: Path) -> list[Values]:
    """Values of the finished cases; the last one may be cut."""
    found = []
    for number, each in enumerate(some):
        size = ROUNDS * each.rows * LANES * 4
        try:
            rows = np.fromfile(directory / _result(number), np.uint32, size // 4)
            memory = np.zeros(0, np.uint8)
            if each.case.memory:
                memory = np.fromfile(directory / _memory(number), np.uint8)
        except OSError:
            break
        if rows.nbytes < size or (each.case.memory and memory.size < MEMORY_BYTES):
            break
        found.append(Values(rows.reshape(ROUNDS, each.rows, LANES), memory))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
