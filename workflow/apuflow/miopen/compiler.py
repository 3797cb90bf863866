"""OpenCL compilers for AMDGPU: clang on the host, ``clang-ocl`` in the image."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from apuflow.core.errors import EngineError

Runner: TypeAlias = Callable[[Sequence[str], Path, Path], int]
"""Run a command in a directory, append its output to a log file, give its exit status."""

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
    """How to turn a kernel source and its arguments into an object.

    Args:
        name: for messages and records.
        command: program and leading arguments.
        flags: arguments behind the kernel's own.
        identity: what distinguishes its output: version and flags; part of an object's name.
    """

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str

    def command_line(self, arguments: Sequence[str], gfx: str, source: Path, out: Path) -> list[str]:
        """The argument vector for one kernel."""
        return [*self.command, *arguments, f"-mcpu={gfx}", *self.flags, str(source), "-o", str(out)]


def host_compiler(
    clang: str | None = None,
    device_libraries: str | Path | None = None,
    *,
    code_object: Literal[3, 4, 5] = 3,
) -> Compiler:
    """clang's AMDGPU target on this machine.

    Args:
        clang: the program; None: the first of ``CLANGS`` that is there.
        device_libraries: directory of ROCm's bitcode; None: what ``HIP_DEVICE_LIB_PATH`` names (clang's own
            variable for it), else the first of ``DEVICE_LIBRARIES`` that is there.
        code_object: ABI version. 3 is what the runtime of ROCm 4.0 loads; 4 leaves xnack open, which the
            launcher without a runtime needs on gfx801.

    Raises:
        EngineError: something is missing, with the package that has it.
    """
    remedy = "apt install clang-15 lld-15 rocm-device-libs, or compile in the image with clang-ocl"
    found = next((path for name in ([clang] if clang else CLANGS) if (path := shutil.which(name))), None)
    if found is None:
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
    version = _output(found, "--version").partition("\n")[0]
    if "amdgcn" not in _output(found, "--print-targets"):
        raise EngineError("this clang has no AMDGPU target", key="clang", value=found, remedy=remedy)
    command = (
        *(found, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header"),
        *("--target=amdgcn-amd-amdhsa", f"--rocm-device-lib-path={bitcode}", "-O3"),
    )
    flags = ("-Wno-everything", f"-mcode-object-version={code_object}")
    identity = "\n".join((version, *command[1:], *flags))
    return Compiler(f"{version} (code object v{code_object})", command, flags, identity)


def image_compiler(image: str, clang_ocl: str = CLANG_OCL) -> Compiler:
    """``clang-ocl`` of a ROCm image; ``image`` (its digest) says which version that is."""
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
