"""Shared by the launcher's tests: code objects made by hand, the program with and without a played device."""

from __future__ import annotations

import functools
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import needs
from places import DATA

from apuflow.launcher.dispatch_list import Contents, DispatchList
from apuflow.launcher.plan import kernel_source
from apuflow.launcher.program import DEVICES, GUEST, build_launcher, sources
from apuflow.miopen import Launch, Row

FAKE_SYSTEM = DATA / "launcher" / "fake_system.c"
MACH = {
    **{"gfx801": 0x28, "gfx803": 0x2A, "gfx900": 0x2C, "gfx902": 0x2D},
    **{"gfx906": 0x2F, "gfx908": 0x30, "gfx90a": 0x3F, "gfx942": 0x4C},
}
"""EF_AMDGPU_MACH values of the LLVM AMDGPU backend's documentation."""

CODE_ADDRESS = 0x1000
DESCRIPTOR_ADDRESS = 0x400


@dataclass(frozen=True)
class GuestList(DispatchList):
    """A list with what the guest program can do and the workflow does not ask of it.

    Attributes:
        poll: read the completion signal in a loop, instead of sleeping on a driver event.
        finite: buffers of which the guest checks, before it writes files, that every element is finite.
    """

    poll: bool = False
    finite: tuple[str, ...] = ()

    def text(self) -> str:
        lines = super().text().splitlines()
        if self.poll:
            lines[lines.index("wait event")] = "wait poll"
        last = next(at for at, line in enumerate(lines) if line.startswith(("dump ", "end")))
        lines[last:last] = [f"check {buffer} finite" for buffer in self.finite]
        return "\n".join([*lines, ""])


def constant(value: float) -> Contents:
    """Every element is this 32-bit float."""
    return Contents("constant", struct.unpack("<I", struct.pack("<f", value)))


def source_rows(launches: Iterable[Launch]) -> tuple[Row, ...]:
    """Everything that has to be compiled for these launches, once each, in their order."""
    return tuple(dict.fromkeys(map(kernel_source, launches)))


def code_object(
    kernel: str = "twice",
    *,
    mach: int = MACH["gfx801"],
    group: int = 0,
    private: int = 0,
    kernarg: int = 32,
    machine: int = 224,
) -> bytes:
    """A minimal AMDGPU ELF: one segment, one kernel descriptor at 0x400, its code at 0x1000."""
    names = b"\0" + f"{kernel}.kd\0{kernel}\0".encode()
    strings, symbols, sections = 0x100, 0x200, 0x1100
    image = bytearray(CODE_ADDRESS + 0x100)
    image[strings : strings + len(names)] = names
    descriptor = struct.pack("<IIIIq", group, private, kernarg, 0, CODE_ADDRESS - DESCRIPTOR_ADDRESS)
    image[DESCRIPTOR_ADDRESS : DESCRIPTOR_ADDRESS + len(descriptor)] = descriptor
    image[DESCRIPTOR_ADDRESS + 64 : DESCRIPTOR_ADDRESS + 256] = (
        b"\xff" * 192
    )  # what follows is not the kernel's
    for index, (name, address) in enumerate(
        ((1, DESCRIPTOR_ADDRESS), (len(kernel) + 5, CODE_ADDRESS)), start=1
    ):
        entry = struct.pack("<IBBHQQ", name, 0x11, 3, 2, address, 64)
        image[symbols + 24 * index : symbols + 24 * index + 24] = entry
    image[CODE_ADDRESS : CODE_ADDRESS + 4] = b"\x00\x00\x81\xbf"  # s_endpgm
    image[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01\x40\x02" + bytes(7),
        *(3, machine, 1, 0, 64, sections, mach, 64, 56, 1, 64, 3, 0),
    )
    image[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(image), len(image), 0x1000)
    dynsym = struct.pack("<IIQQQQIIQQ", 0, 11, 2, symbols, symbols, 72, 2, 1, 8, 24)
    dynstr = struct.pack("<IIQQQQIIQQ", 0, 3, 2, strings, strings, len(names), 0, 0, 1, 0)
    return bytes(image) + bytes(64) + dynsym + dynstr


def run(
    program: Path, *arguments: str | Path, trace: Path | None = None, idle: bool = False
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"FAKE_TRACE": str(trace)} if trace else {})}
    if idle:
        environment["FAKE_IDLE"] = "1"
    return subprocess.run(
        [str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def compiler() -> str:
    return needs.C_COMPILER.required_program()


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    """Kept until the interpreter ends."""
    return tempfile.TemporaryDirectory(prefix="launcher-")


@functools.cache
def built() -> Path:
    """The launcher, built once for all tests."""
    out = Path(_directory().name) / "launcher"
    build_launcher(compiler(), out)
    return out


@functools.cache
def played() -> Path:
    """The launcher's own sources around a system layer that plays /dev/kfd."""
    out = Path(_directory().name) / "played"
    flags = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fsanitize=undefined"]
    flags += ["-fno-sanitize-recover=all", "-fno-builtin", f"-I{GUEST}", DEVICES]
    files = [str(path) for path in [*sources(system=False), FAKE_SYSTEM]]
    subprocess.run([compiler(), *flags, "-o", str(out), *files, "-lpthread"], check=True)
    return out
