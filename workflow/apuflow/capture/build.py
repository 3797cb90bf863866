"""``apuflow build``: a HIP program from its sources, by clang alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from apuflow.capture.bundle import bundled
from apuflow.capture.hip import hip_library
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.gpus import GCN3, gpu
from apuflow.kernels.sources import HEADERS
from apuflow.launcher.corrections import correcting, without_features
from apuflow.launcher.defects import DefectName
from apuflow.miopen.compiler import Compiler, assembler, device_bitcode, host_compiler, library_flags

DEBIAN: Final = Path("/usr/include/hip/hip_runtime.h")
"""Of the package libamdhip64-dev."""
_OURS: Final = tuple(
    word for name in ("cstdlib", "cstring", "cstdio", "cmath") for word in ("-include", name)
)
"""What programs have of HIP's own header without asking for it."""
_FOR_LINKER: Final = ("-l", "-L", "-Wl,")
"""How arguments of the user's begin that only the linker gets."""
_LATER: Final = "clang-19"


@dataclass(frozen=True)
class Build:
    """How programs are compiled.

    Attributes:
        gpus: that they get code for.
        arguments: for the compiler, of the user's.
        defects: of the gem5 that runs them: code for GPUs is changed for it.
        root: the project's directory.
    """

    gpus: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    defects: Mapping[str, Collection[DefectName]] | None = None
    root: Path = Path()

    def program(self, sources: Sequence[Path], out: Path) -> None:
        """Compile and link a program to ``out``.

        Raises:
            EngineError: a compiler is missing or fails.
            ConfigError: a source is not there.
        """
        for source in sources:
            if not source.is_file():
                raise ConfigError("no such source", key="FILES", value=str(source))
        library = hip_library(self.root)
        clang = _clang(self.gpus[-1])
        with tempfile.TemporaryDirectory(prefix="apuflow-build-") as place:
            objects = []
            for number, source in enumerate(sources):
                unit = replace(self, arguments=(*self.arguments, "-Xclang", f"-cuid=apuflow{number}"))
                made = Path(place) / f"{number}.o"
                objects.append(made)
                bundle = made.with_suffix(".hipfb")
                bundle.write_bytes(bundled({gfx: unit.device(source, gfx, Path(place)) for gfx in self.gpus}))
                embedded = ("-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle))
                host = (clang, "--cuda-host-only", *embedded, *unit.common(), "-O2")
                _run([*host, "-c", str(source), "-o", str(made)])
            _run(
                [
                    *(clang, "--driver-mode=g++", *map(str, objects), str(library)),
                    *(f"-Wl,-rpath,{library.parent.resolve()}", "-o", str(out)),
                    *(each for each in self.arguments if each.startswith(_FOR_LINKER)),
                ]
            )

    def common(self) -> tuple[str, ...]:
        """Arguments of the compiler for host and GPU."""
        ours = () if DEBIAN.is_file() else (f"-I{HEADERS}", *_OURS)
        given = (each for each in self.arguments if not each.startswith(_FOR_LINKER))
        return (
            "-x",
            "hip",
            "-nogpuinc",
            "-D__HIP_PLATFORM_AMD__",
            "-std=c++17",
            "-Wno-everything",
            *given,
            *ours,
        )

    def device(self, source: Path, gfx: str, place: Path) -> bytes:
        """The code object of a source for a GPU; raises as :meth:`program`."""
        compiler = self._compiler(gfx)
        made = place / "device.o"
        if compiler.corrected is None:
            _run(compiler.command_line((), gfx, source, made))
        else:
            text = place / "device.s"
            _run([*compiler.command_line((), gfx, source, text), "-S"])
            text.write_text(compiler.corrected(text.read_text(encoding="utf-8")), encoding="utf-8")
            _run(assembler(compiler).command_line((), gfx, text, made))
        return made.read_bytes()

    def _compiler(self, gfx: str) -> Compiler:
        defects = (self.defects or {}).get(gfx, ())
        base = host_compiler(_clang(gfx), code_object=4, gfx=gfx)
        without = (
            w
            for each in without_features(gfx, defects)
            for w in ("-Xclang", "-target-feature", "-Xclang", each)
        )
        command = (
            *(base.command[0], "--cuda-device-only", "--no-gpu-bundle-output", *self.common(), "-O3"),
            *("-gline-tables-only", "-fno-discard-value-names", *library_flags(device_bitcode(), gfx, "hip")),
            *without,
        )
        made = replace(base, command=command, gpu_option="--offload-arch=")
        return correcting(made, defects) if defects else made


def _clang(gfx: str) -> str:
    """clang 15 for GCN3, which later ones do not test; else 19 where it is there."""
    later = None if gpu(gfx).isa is GCN3 else shutil.which(_LATER)
    return later or host_compiler(gfx=gfx).command[0]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()[:40]
        raise EngineError(
            "the program does not compile:\n" + "\n".join(lines),
            key="FILES",
            remedy="correct it; --compile gives the compiler further arguments",
        )
