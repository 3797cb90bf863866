"""The compiled executor: blocks of instructions run without NumPy (``native``), the rest step by step."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import shutil
import subprocess
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from apuflow.core.files import atomic_write
from apuflow.core.host import user_cache
from apuflow.interpret.blocks import Block
from apuflow.interpret.encodings import Program
from apuflow.interpret.native_ops import MOVER, OP, Encoder
from apuflow.interpret.state import Waves
from apuflow.interpret.waits import Follower

SOURCES: Final = Path(__file__).with_name("native")
FLAGS: Final = (
    *("-std=gnu17", "-O2", "-ftree-vectorize", "-march=native", "-ffp-contract=off", "-fno-math-errno"),
    *("-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,noexecstack"),
)
_PROCESSOR: Final = Path("/proc/cpuinfo")
BLOCK: Final = np.dtype(
    [
        (name, "i8")
        for name in ("ops", "op_count", "instructions", "address", "there", "after", "ending", "executions")
    ]
)
_ENDINGS: Final = {
    **{f"s_cbranch_{name}": number for number, name in enumerate(
        ("scc0", "scc1", "vccz", "vccnz", "execz", "execnz"), 1)},
    **dict.fromkeys(("s_endpgm", "s_endpgm_saved"), 7),
    "s_barrier": 8,
    "s_branch": 0,
}  # fmt: skip
_OTHER: Final = 9


class Status(IntEnum):
    """``enum status``: why blocks stop."""

    ENDED = 0
    WAITS = 1
    PARTED = 2
    MEETS = 3
    TIRED = 4
    TOO_LONG = 5
    UNKNOWN = 6
    LEFT = 7


class _Waves(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in ("s", "v", "exec", "scc", "group", "private", "memory", "limits", "lds", "live")
        ),
        *((name, ctypes.c_int64) for name in ("base", "bytes", "lds_bytes", "lds_stride")),
        *((name, ctypes.c_int64) for name in ("count", "registers", "accumulation", "full")),
        *((name, ctypes.c_void_p) for name in ("writers", "readers", "numbers", "marks")),
        ("waits", ctypes.c_int64),
    )


class _Program(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("blocks", "numbers", "movers")),
        *((name, ctypes.c_int64) for name in ("first", "words")),
    )


class State(ctypes.Structure):
    """``struct state``: where wavefronts are, and when they stop."""

    _fields_ = tuple(
        (name, ctypes.c_int64) for name in ("address", "op", "patience", "others", "executed", "limit")
    )


class Library:
    """The executor's functions; raises OSError if it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        library.native_name.restype = ctypes.c_char_p
        sizes = [ctypes.sizeof(_Waves), OP.itemsize, MOVER.itemsize, BLOCK.itemsize, ctypes.sizeof(_Program)]
        assert sizes == [library.native_sizes(which) for which in range(5)]
        self.functions: dict[str, int] = {}
        while name := library.native_name(len(self.functions)):
            self.functions[name.decode()] = len(self.functions)
        self.run = library.native_run
        self.run.argtypes = [ctypes.c_void_p] * 3
        self.op = library.native_op
        self.op.argtypes = [ctypes.c_void_p] * 3


def library(cache: Path | None = None, cc: str = "cc") -> Library | None:
    """The executor, compiled into the user's cache once for each compiler and processor.

    None: there is no C compiler, it fails, or the library cannot be kept or loaded there.
    """
    compiler, cache = shutil.which(cc), cache or user_cache()
    if compiler is None or cache is None:
        return None
    files = sorted(SOURCES.glob("*.[ch]"))
    texts = [each.read_text(encoding="utf-8") for each in files]
    try:
        parts = (compiler, _output(compiler, "--version"), *FLAGS, *_processor(), *texts)
        content = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        out = cache / "apuflow/interpreter" / content / "native.so"
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            sources = [str(each) for each in files if each.suffix == ".c"]
            with atomic_write(out) as part:
                _output(compiler, *FLAGS, "-o", str(part), *sources, "-lm")
        return Library(out)
    except (OSError, subprocess.CalledProcessError):
        return None


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _processor() -> list[str]:
    """What decides which instructions the compiler may use."""
    text = _PROCESSOR.read_text(encoding="utf-8") if _PROCESSOR.exists() else ""
    lines = text.partition("\n\n")[0].splitlines()
    return [
        platform.machine(),
        *(each for each in lines if each.startswith(("flags", "Features", "model name"))),
    ]


def _address(array: Any) -> int:
    return int(array.ctypes.data)


class NativeProgram:
    """Blocks of a code object that the executor knows."""

    def __init__(self, library: Library, program: Program) -> None:
        self._library, self._program = library, program
        self._encoder = Encoder(library.functions, program.isa)
        self._numbers = np.full(len(program.words), -1, np.int32)
        self._table = np.zeros(64, BLOCK)
        self._kept: list[Any] = []
        self.blocks: list[Block] = []
        self.polls: Mapping[int, tuple[int, bool]] = {}
        """Of the kernel that runs (``Follower.numbered``)."""
        self._movers = np.zeros(0, MOVER)
        self._given = _Program(0, _address(self._numbers), 0, program.address, len(program.words))
        self._moved()

    def _moved(self) -> None:
        self._given.blocks = _address(self._table)
        self._movers = np.array(self._encoder.movers, MOVER) if self._encoder.movers else np.zeros(1, MOVER)
        self._given.movers = _address(self._movers)

    def add(self, block: Block, address: int) -> None:
        """One more block."""
        if len(self.blocks) == len(self._table):
            self._table = np.concatenate([self._table, np.zeros(len(self._table), BLOCK)])
        ops = np.array([self._encoder.row(found) for found in block.stepped] or np.zeros(0, OP), OP)
        if self.polls:
            for op, found in zip(ops, block.stepped, strict=True):
                op["poll"], op["unchanged"] = self.polls.get(found.address, (0, False))
        last = block.instructions[-1]
        after = last.address + last.size
        row = self._table[len(self.blocks)]
        row["ops"], row["op_count"], row["instructions"] = _address(ops), len(ops), len(block.instructions)
        row["address"], row["there"] = address, after + 4 * last.immediate
        row["after"] = row["there"] if last.name == "s_branch" else after
        row["ending"] = _ENDINGS.get(last.name, _OTHER)
        self._kept.append(ops)
        self._numbers[address - self._program.address >> 2] = len(self.blocks)
        self.blocks.append(block)
        self._moved()

    def run(self, waves: Waves, state: State) -> Status:
        """Run blocks until there is a reason to stop."""
        given = waves_of(waves)
        status = Status(
            self._library.run(ctypes.addressof(given), ctypes.addressof(self._given), ctypes.addressof(state))
        )
        waves.full = bool(given.full)
        if given.waits:
            _follower(waves).found(given.waits)
            given.waits = 0
        return status

    def block(self, address: int) -> Block:
        """The block there, which is known."""
        return self.blocks[self._numbers[address - self._program.address >> 2]]

    def executions(self) -> list[tuple[Block, int]]:
        """How many wavefronts have run each block since the last call."""
        counts = self._table["executions"][: len(self.blocks)].tolist()
        self._table["executions"] = 0
        return list(zip(self.blocks, counts, strict=True))


def _follower(waves: Waves) -> Follower:
    assert isinstance(waves.watch, Follower)
    return waves.watch


def waves_of(waves: Waves) -> Any:
    """What the executor is told of wavefronts; arrays that have been replaced are told anew."""
    given = waves.native
    if given is None:
        memory, lds = waves.memory, waves.lds
        given = waves.native = _Waves(
            *(
                _address(each)
                for each in (waves.s, waves.v, waves.exec, waves.scc, waves.group, waves.private)
            ),
            *(
                _address(memory.bytes),
                _address(memory.limits),
                _address(lds.bytes),
                _address(lds.live),
                memory.base,
                len(memory.bytes),
            ),
            *(lds.size, lds.stride, len(waves), len(waves.v), waves.accumulation, 0),
            *_followed(waves),
        )
        waves.told = (waves.exec, waves.scc)
    elif waves.told is None or waves.told[0] is not waves.exec or waves.told[1] is not waves.scc:
        waves.exec, waves.scc = map(np.ascontiguousarray, (waves.exec, waves.scc))
        given.exec, given.scc = _address(waves.exec), _address(waves.scc)
        waves.told = (waves.exec, waves.scc)
    if given.writers and _follower(waves).loop is not None:  # it knows enough
        given.writers = 0
    return given


def _followed(waves: Waves) -> tuple[int, ...]:
    if waves.watch is None:
        return (0,) * 5
    tables = _follower(waves).tables
    return (*map(_address, (*tables, waves.lds.marks)), 0)
