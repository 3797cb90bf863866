"""Compile kernels for AMDGPU: clang on the host, ``clang-ocl`` in the image."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import Remembered, atomic_write
from apuflow.core.gpus import gpu
from apuflow.miopen.elf import BrokenObject, CodeObject, read_code_object
from apuflow.miopen.launch import Row

_NO_ROOM = 1 << 16
_LINES_SHOWN = 40

Runner: TypeAlias = Callable[[Sequence[str], Path, Path], int]
"""Runs a command in a directory, appends its output to a log file, returns its exit status."""

CLANGS: Final = ("clang-15", "clang-16", "clang-14", "clang-17", "clang", "/opt/rocm/llvm/bin/clang")
LATER_CLANGS: Final = ("clang-19", "clang-18", "clang-17", "clang-20", "clang", "/opt/rocm/llvm/bin/clang")
"""For GPUs that the first ones do not know."""
DEVICE_LIBRARIES: Final = (
    "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
    "/usr/lib/amdgcn/bitcode",
    "/opt/rocm/amdgcn/bitcode",
)
_SAME_LIBRARY: Final = {"gfx942": "940"}
CLANG_OCL: Final = "/opt/rocm/bin/clang-ocl"
CLANG_OCL_FLAGS: Final = ("-Wno-everything", "-Xclang", "-target-feature", "-Xclang", "+code-object-v3")
"""What MIOpen 2.9 appends (``hipoc_program.cpp``), and upstream's ``generate_cachefiles.py`` with it."""


@dataclass(frozen=True)
class Compiler:
    """Compiles a kernel source with its arguments into an object.

    Attributes:
        command: program and leading arguments.
        flags: arguments behind the kernel's own.
        identity: version and flags; part of an object's name.
        corrected: changes the assembly before it becomes an object; None: no change.
        finished: changes the object; None: no change.
    """

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str
    gpu_option: str = "-mcpu="
    corrected: Callable[[str], str] | None = None
    finished: Callable[[bytes], bytes] | None = None

    def finish(self, data: bytes) -> bytes:
        """An object as it is to be."""
        return data if self.finished is None else self.finished(data)

    def command_line(self, arguments: Sequence[str], gfx: str, source: Path, out: Path) -> list[str]:
        """The argument vector for one kernel."""
        gpu = f"{self.gpu_option}{gfx}"
        return [*self.command, *arguments, gpu, *self.flags, str(source), "-o", str(out)]


def host_compiler(
    clang: str | None = None,
    device_libraries: str | Path | None = None,
    *,
    code_object: Literal[3, 4, 5] = 3,
    gfx: str = "",
) -> Compiler:
    """clang's AMDGPU target on this machine.

    Args:
        clang: the program; None: ``APUFLOW_CLANG``, else the first of ``CLANGS`` that exists.
        device_libraries: directory of ROCm's bitcode; None: ``HIP_DEVICE_LIB_PATH`` (clang's variable), else
            the first of ``DEVICE_LIBRARIES`` that exists.
        code_object: ABI version. 3 is what the runtime of ROCm 4.0 loads; 4 leaves xnack open, which the
            launcher without a runtime needs on gfx801.
        gfx: the GPU, for one that needs a newer clang; "" takes the oldest that works.

    Raises:
        EngineError: a tool is missing; the message names its package.
    """
    remedy = "apt install clang-15 lld-15 rocm-device-libs, or compile in the image with clang-ocl"
    least = gpu(gfx).least_clang if gfx else 0
    if least:
        remedy = "apt install clang-19 lld-19 rocm-device-libs"
    clang = clang or os.environ.get("APUFLOW_CLANG")
    names = [clang] if clang else LATER_CLANGS if least else CLANGS
    program = next((path for name in names if (path := shutil.which(name)) and _release(path) >= least), None)
    if program is None:
        message = f"no clang of release {least} or later, which {gfx} needs" if least else None
        raise EngineError(
            message or "no clang with an AMDGPU target", key="clang", value=clang, remedy=remedy
        )
    bitcode = device_bitcode(device_libraries, remedy)
    version = _version(Path(program)).partition("\n")[0]
    if "amdgcn" not in _targets(Path(program)):
        raise EngineError("this clang has no AMDGPU target", key="clang", value=program, remedy=remedy)
    command = (
        *(program, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header"),
        *("--target=amdgcn-amd-amdhsa", *library_flags(bitcode, gfx, "opencl"), "-O3"),
    )
    flags = ("-Wno-everything", f"-mcode-object-version={code_object}")
    identity = "\n".join((version, *command[1:], *flags))
    return Compiler(f"{version} (code object v{code_object})", command, flags, identity)


def device_bitcode(device_libraries: str | Path | None = None, remedy: str = "") -> Path:
    """The directory of ROCm's bitcode; see ``host_compiler``."""
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
    return bitcode


def library_flags(bitcode: Path, gfx: str, language: Literal["opencl", "hip"]) -> tuple[str, ...]:
    """What makes clang link ROCm's bitcode.

    Releases without a file for a GPU, for which clang would stop, have one of a GPU with the same functions:
    then each file is named, those that clang itself chooses for this language (its ROCMToolChain).
    """
    version = _SAME_LIBRARY.get(gfx)
    if version is None or (bitcode / f"oclc_isa_version_{gfx.removeprefix('gfx')}.bc").is_file():
        return (f"--rocm-device-lib-path={bitcode}",)
    root = "on" if language == "hip" else "off"
    names = (
        *(("hip", "ocml", "ockl") if language == "hip" else ("opencl", "ocml", "ockl")),
        *("oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off"),
        *(f"oclc_correctly_rounded_sqrt_{root}", "oclc_wavefrontsize64_on", "oclc_abi_version_400"),
        f"oclc_isa_version_{version}",
    )
    linked = (("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(bitcode / f"{name}.bc")) for name in names)
    return ("-nogpulib", *(word for words in linked for word in words))


def _release(program: str) -> int:
    """The number in ``clang version 19.1.7``; 0 without one."""
    found = re.search(r"clang version (\d+)", _version(Path(program)))
    return int(found[1]) if found else 0


def assembler(clang: Compiler) -> Compiler:
    """A compiler of this machine as an assembler, for the same version of code objects."""
    command = (clang.command[0], "-x", "assembler", "--target=amdgcn-amd-amdhsa")
    flags = tuple(flag for flag in clang.flags if flag.startswith("-mcode-object-version="))
    version = clang.identity.partition("\n")[0]
    return Compiler(f"{version} (assembler)", command, flags, "\n".join((version, *command[1:], *flags)))


def image_compiler(image: str) -> Compiler:
    """``clang-ocl`` of a ROCm image; ``image`` (its digest) identifies the version."""
    identity = "\n".join((image, CLANG_OCL, *CLANG_OCL_FLAGS))
    return Compiler(f"clang-ocl of {image}", (CLANG_OCL,), CLANG_OCL_FLAGS, identity)


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


def _output(program: Path, option: str) -> str:
    try:
        return subprocess.run(
            [str(program), option], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineError(
            f"{program} {option} fails: {error}", key="clang", value=str(program), remedy="name another clang"
        ) from None


_version = Remembered(partial(_output, option="--version"))
_targets = Remembered(partial(_output, option="--print-targets"))


def digest(*parts: str) -> str:
    """16 hexadecimal digits over ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def split_arguments(arguments: str) -> list[str]:
    """Compile arguments as a shell splits them.

    Raises:
        ConfigError: a quotation mark is not closed.
    """
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise ConfigError(
            f"compile arguments cannot be split: {error}",
            key="arguments",
            value=arguments,
            remedy="close the quotation mark",
        ) from None


def compile_source(
    source: Path,
    row: Row,
    gfx: str,
    compiler: Compiler,
    out: Path,
    *,
    run: Runner = run_on_host,
    expect: Collection[str] = (),
) -> CodeObject:
    """Compile a source to ``out``, which appears only when whole; ``<out>.log`` has the messages.

    Args:
        row: its compile arguments; errors name its program and layer.
        run: starts commands on the host or in a container.
        expect: kernels that the object must hold.

    Raises:
        EngineError: the compiler fails or leaves no valid object; the message names the layer.
        ConfigError: arguments that cannot be split.
    """
    arguments = split_arguments(row.arguments)
    log = out.with_suffix(".log")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".work-") as work:
            directory = Path(work).resolve()
            made, messages = directory / "kernel.o", directory / "messages"
            messages.touch()
            command = compiler.command_line(arguments, gfx, source, made)
            status = _compile(command, compiler, gfx, directory, messages, run)
            messages.replace(log)
            found = _checked(made, status, gfx, expect)
            if isinstance(found, str):
                raise _failure(found, gfx, row, compiler, log, command)
            with atomic_write(out) as part:
                part.write_bytes(compiler.finish(made.read_bytes()))
    except OSError as error:
        raise EngineError(
            f"cannot write the kernel object: {error.strerror}",
            file=out,
            remedy="make the directory writable",
        ) from None
    return found


def _compile(
    command: list[str], compiler: Compiler, gfx: str, directory: Path, messages: Path, run: Runner
) -> int:
    """The compiler's exit status; compiles through assembly if the assembly is corrected."""
    if compiler.corrected is None:
        return run(command, directory, messages)
    written, text = Path(command[-1]), directory / "kernel.s"
    status = run([*command[:-1], str(text), "-S"], directory, messages)
    if status != 0 or not text.is_file():
        return status
    text.write_text(compiler.corrected(text.read_text(encoding="utf-8")), encoding="utf-8")
    return run(assembler(compiler).command_line((), gfx, text, written), directory, messages)


def _checked(made: Path, status: int, gfx: str, expect: Collection[str]) -> CodeObject | str:
    """The compiled object, or what is wrong with it."""
    if status != 0:
        return f"exit status {status}"
    if not made.is_file():
        return "it says success, but wrote no object"
    try:
        found = read_code_object(made.read_bytes())
    except BrokenObject as error:
        return error.message
    if found.gfx != gfx or not set(expect) <= set(found.kernels):
        return f"it wrote an object for {found.gfx} with {', '.join(found.kernels)}"
    return found


class CompilerFailure(EngineError):
    """The compiler failed or left no valid object; ``file`` is its log."""

    def with_messages(self, source: Path) -> CompilerFailure:
        """The same error for ``source`` with the log's lines instead of the log, which is removed."""
        lines = _lines(Path(self.file)) if self.file else []
        more = [f"... and {len(lines) - _LINES_SHOWN} lines more"] if len(lines) > _LINES_SHOWN else []
        remedy = "correct what the compiler names"
        if any("identifier 'cuda" in line for line in lines):
            remedy = "translate CUDA's names to HIP's (hipify-perl), or leave the host side out"
        text = "\n  ".join([self.message.partition("\n")[0], *lines[:_LINES_SHOWN], *more])
        return CompilerFailure(text, file=source, key=self.key, value=self.value, remedy=remedy)


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").strip().splitlines() if log.is_file() else []


def _failure(
    reason: str, gfx: str, row: Row, compiler: Compiler, log: Path, command: list[str]
) -> CompilerFailure:
    messages = _lines(log)
    if shutil.disk_usage(log.parent).free < _NO_ROOM:  # then the compiler's own message had no room either
        reason += "; the disk is full"
    first = next((line for line in messages if "error" in line.lower()), messages[0] if messages else "")
    wanted = f" for layer {row.layer}" if row.layer else ""
    return CompilerFailure(
        f"{row.program} does not compile{wanted} on {gfx}: {reason}" + (f"\n  {first}" if first else ""),
        file=log,
        key="command",
        value=shlex.join(command[:-2]),  # where it writes to is gone
        remedy=f"read the log; the compiler is {compiler.name}",
    )
