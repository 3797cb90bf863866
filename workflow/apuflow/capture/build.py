"""HIP programs from their sources, by clang alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apuflow.capture.bundle import bundled
from apuflow.capture.hip import hip_library
from apuflow.capture.options import Input, Line
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.gpus import GCN3, GPUS, gpu
from apuflow.kernels.sources import HEADERS
from apuflow.launcher.corrections import correcting, without_features
from apuflow.launcher.defects import DefectName
from apuflow.miopen.compiler import (
    Compiler,
    assembler,
    device_bitcode,
    digest,
    host_compiler,
    library_flags,
)

DEBIAN: Final = Path("/usr/include/hip/hip_runtime.h")
"""Of the package libamdhip64-dev."""
DEFAULT_GPU: Final = "gfx90a"
_OURS: Final = tuple(
    word for name in ("cstdlib", "cstring", "cstdio", "cmath") for word in ("-include", name)
)
"""What programs have of HIP's own header without asking for it."""
_LATER: Final = "clang-19"
_LINES_SHOWN: Final = 40


@dataclass(frozen=True)
class Build:
    """How sources are compiled.

    Attributes:
        gpus: that they get code for; none: those of the command line that are known.
        known: GPUs that may be, others of a command line are left out.
        defects: of the gem5 that runs them, by GPU: code for GPUs is changed for it.
        root: the project's directory.
    """

    gpus: tuple[str, ...] = ()
    defects: Mapping[str, Collection[DefectName]] = field(default_factory=dict)
    known: tuple[str, ...] = tuple(GPUS)
    root: Path = Path()

    def run(self, line: Line) -> None:
        """Do what a command line asks for.

        Raises:
            EngineError: a compiler is missing or fails.
            ConfigError: an input is not there, or no GPU that apuflow knows is named.
        """
        made = _Making(self, line, self.gpus_of(line))
        if line.form == "other":
            made.other()
            return
        for each in line.words:
            if isinstance(each, Input) and not each.path.is_file():
                raise ConfigError("no such file", key="FILES", value=str(each.path))
        if line.form == "program":
            made.program()
            return
        if line.out and len(line.sources) > 1:
            raise ConfigError("one output for several sources", key="-o", value=str(line.out))
        ending = ".o" if line.form == "objects" else ".hipfb"
        for source in line.sources:
            out = line.out or Path(source.path.with_suffix(ending).name)
            made.object(source, out) if line.form == "objects" else made.code(source, out)

    def gpus_of(self, line: Line) -> tuple[str, ...]:
        """GPUs that a command line's sources get code for; raises ConfigError as :meth:`run`."""
        found = self.gpus or tuple(each for each in line.gpus if each in self.known)
        if line.gpus and not found:
            remedy = f"name one of {', '.join(self.known)}, or build with --gfx"
            named = ", ".join(line.gpus)
            raise ConfigError("no GPU that gem5 models", key="--offload-arch", value=named, remedy=remedy)
        return found or (DEFAULT_GPU,)


@dataclass(frozen=True)
class _Making:
    """One command line that is done."""

    build: Build
    line: Line
    gpus: tuple[str, ...]

    def program(self) -> None:
        """Compile and link to a program or a library."""
        library = hip_library(self.build.root)
        with tempfile.TemporaryDirectory(prefix="apuflow-build-") as place:
            objects = []
            for number, source in enumerate(self.line.sources):
                objects.append(Path(place) / f"{number}.o")
                self.object(source, objects[-1])
            out = self.line.out or Path("a.out")
            linked = self.line.for_linker(objects)
            here = library.parent.resolve()
            quiet = "-Wno-unused-command-line-argument"
            command = [_clang(self.gpus[-1]), "--driver-mode=g++", quiet, *linked, str(library)]
            _run([*command, f"-Wl,-rpath,{here}", "-o", str(out)], "link")

    def object(self, source: Input, out: Path) -> None:
        """A source as an object for the linker, its code for GPUs inside."""
        command = [_clang(self.gpus[-1]), *self._language(source), *self.line.for_host]
        with tempfile.TemporaryDirectory(prefix="apuflow-build-") as place:
            if source.language == "hip":
                bundle = Path(place) / "code.hipfb"
                self.code(source, bundle)
                command += ["--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle)]
            sys.stderr.write(_run([*command, "-c", str(source.path), "-o", str(out)]))

    def code(self, source: Input, out: Path) -> None:
        """A source's code for all GPUs, as a bundle."""
        with tempfile.TemporaryDirectory(prefix="apuflow-build-") as place:
            objects = {gfx: self._code(source, gfx, Path(place)) for gfx in self.gpus}
        out.write_bytes(bundled(objects))

    def other(self) -> None:
        """clang's own matter: preprocessing, versions."""
        sources = self.line.sources
        language = self._language(sources[0]) if sources else ()
        hip = ("--cuda-host-only",) if sources and sources[0].language == "hip" else ()
        out = ("-o", str(self.line.out)) if self.line.out else ()
        words = self.line.for_linker([each.path for each in sources])
        _run([_clang(self.gpus[-1]), *language, *hip, *words, *out], shown=True)

    def _language(self, source: Input) -> tuple[str, ...]:
        """The compiler's first arguments for a source."""
        headers = () if DEBIAN.is_file() else (f"-I{HEADERS}",)
        more: tuple[str, ...] = ()
        if source.language != "c":
            more = ("-std=c++17", *(() if DEBIAN.is_file() else _OURS))
        if source.language == "hip":
            number = digest(str(source.path.resolve()), *self.line.for_host)
            more = (*more, "-nogpuinc", "-Xclang", f"-cuid={number}")
        return ("-x", source.language, "-D__HIP_PLATFORM_AMD__", "-O3", "-Wno-everything", *headers, *more)

    def _code(self, source: Input, gfx: str, place: Path) -> bytes:
        """A source's code object for a GPU."""
        compiler = self._compiler(source, gfx)
        made = place / "device.o"
        if compiler.corrected is None:
            _run(compiler.command_line((), gfx, source.path, made))
        else:
            text = place / "device.s"
            _run([*compiler.command_line((), gfx, source.path, text), "-S"])
            text.write_text(compiler.corrected(text.read_text(encoding="utf-8")), encoding="utf-8")
            _run(assembler(compiler).command_line((), gfx, text, made))
        return made.read_bytes()

    def _compiler(self, source: Input, gfx: str) -> Compiler:
        defects = self.build.defects.get(gfx, ())
        base = host_compiler(_clang(gfx), code_object=4, gfx=gfx)
        without = (
            w
            for each in without_features(gfx, defects)
            for w in ("-Xclang", "-target-feature", "-Xclang", each)
        )
        command = (
            *(base.command[0], "--cuda-device-only", "--no-gpu-bundle-output", *self._language(source)),
            *(*self.line.for_gpu, "-gline-tables-only", "-fno-discard-value-names"),
            *(*library_flags(device_bitcode(), gfx, "hip"), *without),
        )
        made = Compiler(
            base.name, command, base.flags, base.identity, "--offload-arch=", base.corrected, base.finished
        )
        return correcting(made, defects) if defects else made


def _clang(gfx: str) -> str:
    """clang 15 for GCN3, which later ones do not test; else 19 where it is there."""
    later = None if gpu(gfx).isa is GCN3 else shutil.which(_LATER)
    return later or host_compiler(gfx=gfx).command[0]


def _run(command: Sequence[str], doing: str = "compile", *, shown: bool = False) -> str:
    """Run a compiler; its messages, unless they are ``shown`` at once."""
    done = subprocess.run(command, capture_output=not shown, text=True, check=False)
    if done.returncode:
        lines = [] if shown else done.stderr.strip().splitlines()[:_LINES_SHOWN]
        raise EngineError(
            "\n".join([f"the program does not {doing}:", *lines]),
            key="FILES",
            remedy="correct it; --compile gives the compiler further arguments",
        )
    return "" if shown else done.stderr
