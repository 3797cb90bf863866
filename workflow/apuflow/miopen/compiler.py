"""Compile OpenCL kernels for AMDGPU (clang on the host, ``clang-ocl`` in the image), and check the objects.

The reader checks that a code object is whole. Source: LLVM's "User Guide for AMDGPU Backend" (ELF header
flags, ``<kernel>.kd`` descriptors). pyelftools does not check files for truncation, raises arbitrary errors
on damaged ones, and takes 50 times as long (measured).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from apuflow.core.errors import EngineError
from apuflow.core.gpus import GPUS
from apuflow.miopen import elf

Runner: TypeAlias = Callable[[Sequence[str], Path, Path], int]
"""Runs a command in a directory, appends its output to a log file, returns its exit status."""

CLANGS: Final = ("clang-15", "clang-16", "clang-14", "clang-17", "clang", "/opt/rocm/llvm/bin/clang")
DEVICE_LIBRARIES: Final = (
    "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
    "/usr/lib/amdgcn/bitcode",
    "/opt/rocm/amdgcn/bitcode",
)
CLANG_OCL: Final = "/opt/rocm/bin/clang-ocl"
CLANG_OCL_FLAGS: Final = ("-Wno-everything", "-Xclang", "-target-feature", "-Xclang", "+code-object-v3")
"""What MIOpen 2.9 appends (``hipoc_program.cpp``), and upstream's ``generate_cachefiles.py`` with it."""


@dataclass(frozen=True)
class Compiler:
    """Compiles a kernel source with its arguments into an object.

    Attributes:
        name: for messages and records.
        command: program and leading arguments.
        flags: arguments behind the kernel's own.
        identity: version and flags; part of an object's name.
        gpu_option: names the GPU, which follows at once.
        corrected: changes the assembly before it becomes an object; None: no change.
    """

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str
    gpu_option: str = "-mcpu="
    corrected: Callable[[str], str] | None = None

    def command_line(self, arguments: Sequence[str], gfx: str, source: Path, out: Path) -> list[str]:
        """The argument vector for one kernel."""
        gpu = f"{self.gpu_option}{gfx}"
        return [*self.command, *arguments, gpu, *self.flags, str(source), "-o", str(out)]


def host_compiler(
    clang: str | None = None,
    device_libraries: str | Path | None = None,
    *,
    code_object: Literal[3, 4, 5] = 3,
) -> Compiler:
    """clang's AMDGPU target on this machine.

    Args:
        clang: the program; None: ``APUFLOW_CLANG``, else the first of ``CLANGS`` that exists.
        device_libraries: directory of ROCm's bitcode; None: ``HIP_DEVICE_LIB_PATH`` (clang's variable), else
            the first of ``DEVICE_LIBRARIES`` that exists.
        code_object: ABI version. 3 is what the runtime of ROCm 4.0 loads; 4 leaves xnack open, which the
            launcher without a runtime needs on gfx801.

    Raises:
        EngineError: a tool is missing; the message names its package.
    """
    remedy = "apt install clang-15 lld-15 rocm-device-libs, or compile in the image with clang-ocl"
    clang = clang or os.environ.get("APUFLOW_CLANG")
    program = next((path for name in ([clang] if clang else CLANGS) if (path := shutil.which(name))), None)
    if program is None:
        raise EngineError("no clang with an AMDGPU target", key="clang", value=clang, remedy=remedy)
    named = device_libraries or os.environ.get("HIP_DEVICE_LIB_PATH")
    places = [named] if named else DEVICE_LIBRARIES
    bitcode = next((Path(place) for place in places if (Path(place) / "ockl.bc").is_file()), None)
    if bitcode is None:
        raise EngineError(
            "ROCm's device libraries are missing",
            key="device_libraries",
            value=str(named or ", ".join(DEVICE_LIBRARIES)),
            remedy=f"{remedy}; HIP_DEVICE_LIB_PATH may name their directory",
        )
    version = _output(program, "--version").partition("\n")[0]
    if "amdgcn" not in _output(program, "--print-targets"):
        raise EngineError("this clang has no AMDGPU target", key="clang", value=program, remedy=remedy)
    command = (
        *(program, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header"),
        *("--target=amdgcn-amd-amdhsa", f"--rocm-device-lib-path={bitcode}", "-O3"),
    )
    flags = ("-Wno-everything", f"-mcode-object-version={code_object}")
    identity = "\n".join((version, *command[1:], *flags))
    return Compiler(f"{version} (code object v{code_object})", command, flags, identity)


def assembler(clang: Compiler) -> Compiler:
    """A compiler of this machine as an assembler, for the same version of code objects."""
    command = (clang.command[0], "-x", "assembler", "--target=amdgcn-amd-amdhsa")
    flags = tuple(flag for flag in clang.flags if flag.startswith("-mcode-object-version="))
    version = clang.identity.partition("\n")[0]
    return Compiler(f"{version} (assembler)", command, flags, "\n".join((version, *command[1:], *flags)))


def image_compiler(image: str, clang_ocl: str = CLANG_OCL) -> Compiler:
    """``clang-ocl`` of a ROCm image; ``image`` (its digest) identifies the version."""
    identity = "\n".join((image, clang_ocl, *CLANG_OCL_FLAGS))
    return Compiler(f"clang-ocl of {image}", (clang_ocl,), CLANG_OCL_FLAGS, identity)


def run_on_host(command: Sequence[str], directory: Path, log: Path) -> int:
    """The runner of this machine.

    Raises:
        EngineError: the command cannot be started.
    """
    try:
        with log.open("ab") as output:
            return subprocess.run(
                command, cwd=directory, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            ).returncode
    except OSError as error:
        raise EngineError(
            f"cannot start the compiler: {error.strerror}",
            value=command[0],
            remedy="install it, or name another one",
        ) from None


def _output(program: str, option: str) -> str:
    try:
        return subprocess.run(
            [program, option], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineError(
            f"{program} {option} fails: {error}", key="clang", value=program, remedy="name another clang"
        ) from None


def digest(*parts: str) -> str:
    """16 hexadecimal digits over ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


_MACHINES: Final = {gpu.elf_machine: gpu.name for gpu in GPUS.values()}

_DESCRIPTOR_BYTES = 64


class BrokenObject(EngineError):
    """A file that is not a whole AMDGPU code object."""


@dataclass(frozen=True)
class CodeObject:
    """Description of a code object.

    Attributes:
        gfx: GPU architecture it was compiled for.
        kernels: names of its kernels.
        size: bytes.
    """

    gfx: str
    kernels: tuple[str, ...]
    size: int


def read_code_object(data: bytes, file: str | Path | None = None) -> CodeObject:
    """Check that ``data`` is a whole AMDGPU ELF object with at least one kernel, and describe it.

    Raises:
        BrokenObject: the object is not whole; the message names the missing part.
    """
    try:
        return _read(data)
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise BrokenObject(
            f"not a whole AMDGPU code object: {error}",
            file=file,
            value=f"{len(data)} bytes",
            remedy="remove it and build again; the compiler's messages are in the .log file beside it",
        ) from None


def code_bytes(data: bytes) -> bytes:
    """The parts of a code object that a GPU loads: instructions, constants and kernel descriptors.

    Args:
        data: an object that ``read_code_object`` takes.
    """
    loaded = (each for each in elf.sections(data) if each.kind == elf.PROGBITS and each.flags & elf.ALLOCATED)
    return b"".join(data[each.offset : each.offset + each.size] for each in loaded)


def _read(data: bytes) -> CodeObject:
    if len(data) < elf.HEADER_BYTES:
        raise ValueError("shorter than an ELF header")
    header = elf.header(data)
    if header.identity[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF header")
    if header.machine != elf.EM_AMDGPU:
        raise ValueError(f"machine {header.machine} instead of AMDGPU")
    if not header.segments or not header.sections:
        raise ValueError("no program or section headers")
    if header.segment_size != elf.SEGMENT.size or header.section_size != elf.SECTION.size:
        raise ValueError("unknown header sizes")
    _within(data, "section headers", header.sections_offset, header.sections * header.section_size)
    _within(data, "program headers", header.segments_offset, header.segments * header.segment_size)
    for number in range(header.segments):
        segment = elf.SEGMENT.unpack_from(data, header.segments_offset + number * header.segment_size)
        _within(data, f"segment {number}", segment[2], segment[5])
    table = elf.sections(data)
    for number, section in enumerate(table):
        if section.kind != elf.NOBITS:
            _within(data, f"section {number}", section.offset, section.size)
    kernels = tuple(
        symbol.name.removesuffix(".kd")
        for symbol in elf.symbols(data, table)
        if symbol.name.endswith(".kd") and symbol.size == _DESCRIPTOR_BYTES
    )
    if not kernels:
        raise ValueError("it holds no kernel")
    machine = header.flags & 0xFF
    return CodeObject(_MACHINES.get(machine, f"machine 0x{machine:x}"), kernels, len(data))


def _within(data: bytes, what: str, offset: int, size: int) -> None:
    if offset + size > len(data):
        raise ValueError(f"{what} end at byte {offset + size}")
