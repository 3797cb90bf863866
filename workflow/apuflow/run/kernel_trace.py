"""The kernels that gem5 dispatched, from its trace: every launch, the runtime's copies and fills included.

gem5 writes the trace beside its statistics when it is asked to (``--debug-flags``, not in gem5.fast, which is
built without traces). Its lines are those of ``gpu_command_processor.cc`` (``submitDispatchPkt``) and
``dispatcher.cc`` (``exec``, ``notifyWgCompl``) in ``src/gpu-compute``; after v24.0 a launch also says how
many kernels were launched in that tick (``for WG 1``).
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from apuflow.core.errors import AnalysisError
from apuflow.core.record import DispatchRecord

FLAGS = ("GPUKernelInfo", "GPUCommandProc")
"""What gem5 has to trace: some ten lines a kernel."""

WORKGROUP_FLAG = "GPUWgLatency"
"""Has gem5 trace every workgroup, too: some six lines each (``dispatchWorkgroups``, ``notifyWgCompl``)."""

FILE = "kernels.trace"

_LINE = re.compile(r"^\s*(?P<tick>\d+): \S+: (?P<text>.*)$")
_NAME = re.compile(r"Kernel name: (.+)$")
_PACKET = re.compile(
    r"Task ID: (?P<number>\d+) Got AQL: wg size \((?P<workgroup>[\dx]+)\), grid size \((?P<grid>[\dx]+)\) "
    r"kernarg addr: (?P<arguments>0x[0-9a-f]+|0), "
)
_CODE = re.compile(
    r"Extracted code object: .* \(num vector regs: (?P<vector>\d+), num scalar regs: (?P<scalar>\d+), "
    r"code addr: (?P<code>0x[0-9a-f]+|0), "
)
_LAUNCHED = re.compile(r"Launched kernel (\d+)(?: for WG \d+)?$")
_COMPLETED = re.compile(r"Completed kernel (\d+)$")
_BEGUN = "WG Begin "
_ENDED = "WG Complete "
_WORKGROUP_BEGUN = re.compile(r"WG Begin cycle:\d+ wg:(\d+) cu:(\d+)$")
_WORKGROUP_ENDED = re.compile(r"WG Complete cycle:\d+ wg:(\d+) kernel:(\d+) cu:(\d+)$")


@dataclass(frozen=True)
class Workgroup:
    """A workgroup of a kernel (its dispatch's number) on a compute unit, and its first and last tick."""

    workgroup: int
    kernel: int
    unit: int
    began: int
    ended: int


@dataclass
class _Dispatch:
    """What is known so far of a dispatch."""

    name: str
    grid: tuple[int, ...]
    workgroup: tuple[int, ...]
    arguments: int
    submitted: int
    vector_registers: int | None = None
    scalar_registers: int | None = None
    code: int | None = None
    launched: int | None = None
    completed: int | None = None
    begins: list[int] = field(default_factory=list)
    held: int | None = None

    def record(self) -> DispatchRecord:
        """As records have it: of the workgroups' begins the mean of each whole filling of the machine."""
        values = dict(vars(self))
        begins, held = values.pop("begins"), self.held
        fillings: list[float] = []
        if held:
            starts = range(0, len(begins) - held + 1, held)
            fillings = [math.fsum(begins[start : start + held]) / held for start in starts]
        return DispatchRecord(**values, fillings=tuple(fillings))


def read_trace(file: Path) -> tuple[DispatchRecord, ...]:
    """The dispatches of a run in their order; none where there is no trace.

    A trace that ends in the middle, as that of a killed gem5, yields what it holds.
    """
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return parse_trace(lines)
    except FileNotFoundError:
        return ()


def parse_trace(lines: Iterable[str]) -> tuple[DispatchRecord, ...]:
    """The dispatches in the lines of a trace (see ``read_trace``)."""
    dispatches: dict[int, _Dispatch] = {}
    name, last = "", None
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        tick, text = int(match["tick"]), match["text"]
        if last is not None and text.startswith(_BEGUN):
            last.begins.append(tick)
        elif last is not None and text.startswith(_ENDED):
            last.held = last.held or len(last.begins) or None
        elif named := _NAME.match(text):
            name = named[1]
        elif packet := _PACKET.match(text):
            last = _Dispatch(
                name, _extent(packet["grid"]), _extent(packet["workgroup"]), int(packet["arguments"], 0), tick
            )
            dispatches[int(packet["number"])] = last
        elif last is not None and (code := _CODE.match(text)):
            last.vector_registers, last.scalar_registers = int(code["vector"]), int(code["scalar"])
            last.code = int(code["code"], 0)
        elif launched := _LAUNCHED.match(text):
            # Said again each time that workgroups of it found no room and are tried once more.
            begun = dispatches.get(int(launched[1]))
            if begun is not None and begun.launched is None:
                begun.launched = tick
        elif (ended := _COMPLETED.match(text)) and int(ended[1]) in dispatches:
            dispatches[int(ended[1])].completed = tick
    return tuple(dispatches[number].record() for number in sorted(dispatches))


def read_workgroups(file: Path) -> tuple[Workgroup, ...]:
    """The workgroups of a trace that ended, in that order.

    ``Shader::dispatchWorkgroups`` (src/gpu-compute/shader.cc) and ``GPUDispatcher::notifyWgCompl``
    (dispatcher.cc) say when.

    Raises:
        AnalysisError: there is no such file.
    """
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return parse_workgroups(lines)
    except OSError as error:
        message, remedy = f"the trace cannot be read: {error.strerror}", "give the file that gem5 wrote"
        raise AnalysisError(message, file=file, remedy=remedy) from None


def parse_workgroups(lines: Iterable[str]) -> tuple[Workgroup, ...]:
    """The workgroups in the lines of a trace (see ``read_workgroups``)."""
    begun: dict[tuple[int, int], deque[int]] = {}
    found: list[Workgroup] = []
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        tick, text = int(match["tick"]), match["text"]
        if first := _WORKGROUP_BEGUN.match(text):
            begun.setdefault((int(first[1]), int(first[2])), deque()).append(tick)
        elif last := _WORKGROUP_ENDED.match(text):
            number, kernel, unit = map(int, last.groups())
            if open_ticks := begun.get((number, unit)):
                found.append(Workgroup(number, kernel, unit, open_ticks.popleft(), tick))
    return tuple(found)


def _extent(text: str) -> tuple[int, ...]:
    """``256x1x1`` as numbers."""
    return tuple(int(size) for size in text.split("x"))
