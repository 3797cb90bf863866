"""Build the guest program with the machine's C compiler."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.core.files import atomic_write
from apuflow.core.gpus import GPUS

GUEST = Path(__file__).parent / "guest"
SYSTEM_SOURCE = "sys.c"
"""The only file with system calls and the entry point; tests link another one."""

DEVICES = "-DGPUS=" + ",".join(
    f'{{"{gpu.name}",{gpu.elf_machine},{gpu.kfd_id},{gpu.discrete:d},{gpu.wide_doorbell:d},{gpu.doubled_ring:d}}}'
    for gpu in GPUS.values()
    if not gpu.runs_as
)
"""The compiler's flag that tells the guest every GPU that gem5 is told, as a ``struct device`` each."""
LANGUAGE_FLAGS = (DEVICES, "-std=c17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-O2")
FREESTANDING_FLAGS = (
    *("-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector"),
    *("-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-fno-tree-loop-distribute-patterns"),
    *("-march=x86-64", "-s", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,noseparate-code"),
)


def sources(*, system: bool = True) -> list[Path]:
    """The guest's C files, sorted; without the system layer if ``system`` is false."""
    return [path for path in sorted(GUEST.glob("*.c")) if system or path.name != SYSTEM_SOURCE]


@cache
def sources_identity() -> str:
    """16 hexadecimal digits over the guest's C files, headers and GPUs."""
    files = sorted(path for path in GUEST.iterdir() if path.suffix in (".c", ".h"))
    content = DEVICES + "\0".join(f"{path.name}\0{path.read_text(encoding='utf-8')}" for path in files)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def build_launcher(cc: str, out: Path) -> None:
    """Compile the guest program to ``out``: static, freestanding, x86-64.

    Args:
        cc: a C compiler that targets x86-64 Linux (gcc 8 or clang 7 and later).
        out: the executable, which appears only when complete.

    Raises:
        EngineError: the compiler is missing or fails.
    """
    if shutil.which(cc) is None:
        raise EngineError(
            "no C compiler", key="cc", value=cc, remedy="install gcc, or name another compiler for x86-64"
        )
    with atomic_write(out) as part:
        command = [cc, *LANGUAGE_FLAGS, *FREESTANDING_FLAGS, "-o", str(part), *map(str, sources())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EngineError(
                f"the launcher does not compile:\n{done.stderr.strip()}",
                key="cc",
                value=cc,
                remedy="use gcc 8 or clang 7 or later for x86-64",
            )
        part.chmod(0o755)
    out.chmod(0o755)
