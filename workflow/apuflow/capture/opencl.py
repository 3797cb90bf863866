"""OpenCL: programs that the captured program builds while it runs, and what its loader is told."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.capture.journal import Source
from apuflow.capture.library import build_library
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.sources import compiled_meanwhile, own_compiler
from apuflow.miopen.compiler import split_arguments

HEADER: Final = Path("/usr/include/CL/cl_icd.h")
_LIBRARY: Final = "libapuflow-opencl.so.1"
_SOURCES: Final = tuple(f"opencl/{name}.c" for name in ("platform", "memory", "program", "launch", "table"))
_PRINTF: Final = re.compile(r"\bprintf\s*\(")
_OTHER_TEXT: Final = re.compile(r"^\s*#\s*include|\bprintf\b", re.MULTILINE)
"""What a source may have of other files, or only where a macro is defined."""


class Built(NamedTuple):
    """What became of a program.

    Attributes:
        code: the code object; empty: it does not compile.
        source: what it was made of; None: the program gave the code object itself.
        names: its kernels. log: what the compiler says.
    """

    code: bytes
    source: Source | None
    names: tuple[str, ...]
    log: str


def build_program(payload: bytes, gfx: str, file: Path) -> Built:
    """Build a program that a request describes: its directory, options, and a source or a code object.

    Args:
        file: where a source is put.

    Raises:
        EngineError: a code object that is broken, or kernels that call ``printf``.
    """
    directory, options, data = payload.split(b"\0", 2)
    if data.startswith(b"\x7fELF"):
        file.write_bytes(data)
        return Built(data, None, _names(file), "")
    try:
        source = _alone(data.decode(errors="replace"), options.decode(), os.fsdecode(directory), gfx, file)
    except ApuflowError as error:
        return Built(b"", None, (), error.message)
    if _PRINTF.search(source.text):  # clang would remove it without a word
        remedy = "leave it out, or undefine the macro that adds it"
        raise EngineError("kernels call printf, which is not recorded", value="printf", remedy=remedy)
    try:
        with compiled_meanwhile(file, source.arguments, gfx) as code:
            return Built(code.read_bytes(), source, _names(code), "")
    except ApuflowError as error:
        return Built(b"", None, (), error.message)


def _names(code: Path) -> tuple[str, ...]:
    return tuple(kernel.name for kernel in read_kernels(code))


def _alone(text: str, arguments: str, directory: str, gfx: str, file: Path) -> Source:
    """Write a source that needs no other file: preprocessed, if it may include any."""
    words = split_arguments(arguments)
    kept = shlex.join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if before != "-I" and not word.startswith("-I")
    )
    file.write_text(text, encoding="utf-8")
    if not _OTHER_TEXT.search(text):
        return Source(text, kept)
    command = own_compiler(file, gfx).command_line(words, gfx, file, file)[:-2]
    header = command.index("-finclude-default-header")
    done = subprocess.run(
        [*command[: header - 1], *command[header + 1 :], "-cl-no-stdinc", "-E", "-P"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EngineError(f"the source cannot be preprocessed:\n{done.stderr.strip()}")
    file.write_text(done.stdout, encoding="utf-8")
    return Source(done.stdout, kept)


def loader_variables(root: Path) -> Mapping[str, str]:
    """Variables with which OpenCL's loader (ocl-icd, Khronos') finds this implementation alone.

    Raises:
        EngineError: OpenCL's headers or a C compiler are missing.
    """
    if not HEADER.is_file():
        remedy = "apt install opencl-c-headers ocl-icd-libopencl1"
        raise EngineError("OpenCL's headers are missing", file=HEADER, remedy=remedy)
    library = build_library(_LIBRARY, _SOURCES, root)
    vendors = library.parent / "vendors"
    vendors.mkdir(exist_ok=True)
    (vendors / "apuflow.icd").write_text(f"{library.resolve()}\n", encoding="utf-8")
    return {"OCL_ICD_VENDORS": f"{vendors.resolve()}/", "OCL_ICD_FILENAMES": ""}
