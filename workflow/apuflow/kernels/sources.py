"""From the user's source to a code object: OpenCL, HIP (device side), assembly by clang; Triton by itself."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal, TypeAlias

from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.core.gpus import GPUS
from apuflow.kernels.iree_compiler import IREE, IREE_GPUS, check_iree, iree_assembler
from apuflow.kernels.triton_file import imported
from apuflow.launcher.corrections import CORRECTIONS_VERSION, correcting, replaced, without_features
from apuflow.launcher.defects import DefectName
from apuflow.launcher.object_changes import finishing
from apuflow.miopen.compiler import (
    Compiler,
    CompilerFailure,
    compile_source,
    device_bitcode,
    digest,
    host_compiler,
    library_flags,
)
from apuflow.miopen.elf import read_code_object
from apuflow.miopen.launch import Row
from apuflow.miopen.objects import KernelObject, included, kernel_object

Language: TypeAlias = Literal["opencl", "hip", "triton", "iree", "assembly", "object"]
LANGUAGES: Final[Mapping[str, Language]] = {
    ".cl": "opencl",
    ".hip": "hip",
    ".cpp": "hip",
    ".cu": "hip",
    ".py": "triton",
    ".mlir": "iree",
    ".onnx": "iree",
    ".s": "assembly",
    ".S": "assembly",
    ".o": "object",
    ".co": "object",
    ".hsaco": "object",
}
"""Language by a file's ending."""
TRITON: Final = "3.9"
TRITON_REMEDY: Final = f"pip install apuflow[triton] (triton=={TRITON}.0)"
TRITON_GPUS: Final = ("gfx906", "gfx908", "gfx90a", "gfx942")
_GPUS: Final[Mapping[Language, tuple[str, tuple[str, ...]]]] = {
    "triton": ("Triton", TRITON_GPUS),
    "iree": ("IREE", IREE_GPUS),
}
"""Compilers that know some GPUs only."""
_IREE_STEP: Final = "1"
"""Raise it when ``iree_process`` makes another object of the same model."""
_TRITON_STEP: Final = "2"
"""Raise it when ``triton_process`` makes another object of the same launch."""
_SDWA: Final[frozenset[DefectName]] = frozenset({"ignored_sdwa", "refused_sdwa"})
"""Defects with which Triton is told to leave such instructions: clang ends with ``-sdwa``."""
_IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {".cu": ("-include", "hip/hip_runtime.h")}
"""What a file has without asking for it: nvcc includes its runtime's header by itself."""
HEADERS: Final = Path(__file__).parent / "include"
"""Ours, for HIP: what its kernels need of hip/hip_runtime.h."""
_LOCATION: Final = re.compile(rb"\x0a\x08location\x12(?=.)", re.DOTALL)
_INCLUDE: Final = re.compile(rb'^\s*#\s*include\s+"([^"]+)"|^\s*\.incbin\s+"([^"]+)"', re.MULTILINE)


def language(source: Path) -> Language:
    """The language of a source file.

    Raises:
        ConfigError: its ending is not one of ``LANGUAGES``.
    """
    if source.suffix not in LANGUAGES:
        raise ConfigError(
            "not a file of kernels",
            key="source",
            value=str(source),
            remedy=f"its ending says what it is: {', '.join(LANGUAGES)}",
        )
    return LANGUAGES[source.suffix]


def is_own(program: str) -> bool:
    """Whether a row names a source of the user's, by its path. MIOpen's and this project's are bare names."""
    return "/" in program


def own_compiler(source: Path, gfx: str = "", defects: Collection[DefectName] = ()) -> Compiler:
    """What makes a code object (V4) of a source on this machine.

    Args:
        gfx: the GPU, which decides on the least version of clang.
        defects: those of the gem5 that runs it: what clang writes is changed for them. Assembly is not: its
            author chose the instructions.

    Raises:
        EngineError: no clang with an AMDGPU target; not for code objects, which need none.
    """
    kind = language(source)
    if kind == "triton":
        found = triton_compiler(gfx, defects)
    elif kind == "iree":
        found = iree_compiler(defects)
    else:
        found = _compiler(source, kind, gfx, without_features(gfx, defects))
        if defects and is_compiled(source):
            found = correcting(found, defects)
    return finishing(found, defects) if defects and gfx in GPUS and GPUS[gfx].runs_as else found


def is_compiled(source: Path) -> bool:
    """Whether a compiler chooses the instructions: not for assembly and code objects."""
    return language(source) in ("opencl", "hip", "triton", "iree")


def triton_compiler(gfx: str = "", defects: Collection[DefectName] = ()) -> Compiler:
    """Triton, which is not imported here, with the changes that a gem5 with these defects needs.

    Raises:
        EngineError: it is not installed, or another version.
    """
    try:
        found = version("triton")
    except PackageNotFoundError:
        raise EngineError("Triton is not installed", key="source", remedy=TRITON_REMEDY) from None
    if not found.startswith(f"{TRITON}."):
        message = f"only Triton {TRITON} is known to give code objects that the launcher starts"
        raise EngineError(message, key="source", value=found, remedy=TRITON_REMEDY)
    changes = replaced(defects)
    features = [*without_features(gfx, defects), *([] if _SDWA.isdisjoint(defects) else ["-sdwa"])]
    flags = (f"--features={','.join(features)}", f"--defects={','.join(changes)}") if defects else ()
    corrections = f"corrections {CORRECTIONS_VERSION}" if defects else ""
    identity = "\n".join((f"triton {found}", f"step {_TRITON_STEP}", corrections, *flags))
    command = (sys.executable, "-P", "-m", "apuflow.kernels.triton_process")
    return Compiler(f"Triton {found}", command, flags, identity, "--gfx=")


def iree_compiler(defects: Collection[DefectName] = ()) -> Compiler:
    """IREE, with the changes that a gem5 with these defects needs: clang assembles the changed text.

    Raises:
        ConfigError: it is not installed, or another version.
        EngineError: no clang that assembles for the GPUs.
    """
    check_iree()
    changes = replaced(defects)
    flags, parts = list[str](), [f"IREE {IREE}", f"step {_IREE_STEP}"]
    if defects:
        flags.append(f"--defects={','.join(changes)}")
        clang = iree_assembler().identity.partition("\n")[0]
        parts += [f"corrections {CORRECTIONS_VERSION}", clang, *flags]
    command = (sys.executable, "-P", "-m", "apuflow.kernels.iree_process")
    return Compiler(f"IREE {IREE}", command, tuple(flags), "\n".join(parts), "--gfx=")


def compiles_for(source: Path, gfx: str) -> bool:
    """Whether a source's compiler knows a GPU."""
    return gfx in _GPUS.get(language(source), (None, (gfx,)))[1]


def check_gpu(source: Path, gfx: str) -> None:
    """Raise ConfigError for a GPU that a source's compiler does not know."""
    if not compiles_for(source, gfx):
        name, gpus = _GPUS[language(source)]
        remedy = f"a machine with one of {', '.join(gpus)}"
        raise ConfigError(
            f"{name} does not compile for this GPU", key="gfx-version", value=gfx, remedy=remedy
        )


def _compiler(source: Path, kind: Language, gfx: str, features: Sequence[str]) -> Compiler:
    if kind == "object":
        return Compiler("a copy", (), (), "a copy of the code object")
    opencl = host_compiler(code_object=4, gfx=gfx)
    clang = opencl.command[0]
    version = opencl.identity.partition("\n")[0]
    without = tuple(w for each in features for w in ("-Xclang", "-target-feature", "-Xclang", each))
    if kind == "opencl":  # messages then name arguments as the source does
        more = ("-cl-kernel-arg-info", *without)
        return replace(opencl, flags=(*opencl.flags, *more), identity="\n".join((opencl.identity, *more)))
    if kind == "hip":
        command: tuple[str, ...] = (
            *(clang, "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-std=c++17"),
            *(f"-I{HEADERS}", *library_flags(device_bitcode(), gfx, "hip"), "-O3"),
            *(*_IMPLIED.get(source.suffix, ()), *without),
        )
        gpu_option, known = (
            "--offload-arch=",
            digest(*(path.read_text(encoding="utf-8") for path in sorted(HEADERS.rglob("*.h")))),
        )
    else:
        assembler = "assembler-with-cpp" if source.suffix == ".S" else "assembler"
        command = (clang, "-x", assembler, "--target=amdgcn-amd-amdhsa")
        gpu_option, known = "-mcpu=", ""
    shown = [word for word in command[1:] if word != f"-I{HEADERS}"]
    identity = "\n".join((version, *shown, *opencl.flags, known))
    return replace(opencl, command=command, identity=identity, gpu_option=gpu_option)


def own_object(
    program: str, arguments: str, workload: str, gfx: str, root: Path, defects: Collection[DefectName] = ()
) -> KernelObject:
    """The object to compile for a source of the user's.

    Args:
        program: the source's path from the project's directory ``root``.
    """
    source = root / program
    check_gpu(source, gfx)
    row = Row(program, arguments, workload)
    return kernel_object(row, gfx, own_compiler(source, gfx, defects).identity, source_identity(source))


@lru_cache(maxsize=256)
def source_identity(source: Path) -> str:
    """Hash over a source and everything beside it that it includes.

    Raises:
        ConfigError: it is not there.
    """
    parts = _parts(source)
    return digest(*(f"{name}\0{parts[name].hex()}" for name in sorted(parts)))


def source_files(source: Path) -> tuple[Path, ...]:
    """A source and everything beside it that it includes; raises as source_identity does."""
    return tuple(source.parent / name for name in _parts(source))


def _parts(source: Path) -> dict[str, bytes]:
    if source.suffix == ".py":
        return _modules(source)
    try:
        if source.suffix == ".onnx":
            return _onnx(source)
        return included(source.parent, source.name, _INCLUDE)
    except OSError as error:
        raise ConfigError(
            f"cannot read the kernels' source: {error.strerror}",
            file=error.filename,
            key="source",
            remedy="put it there, or correct source in the workload's file",
        ) from None


def _onnx(source: Path) -> dict[str, bytes]:
    """An ONNX file and the files beside it that have its large tensors.

    Of each such tensor the file has the entry ``location``: two fields, each with a byte for its length.
    """
    data = source.read_bytes()
    names = (data[at.end() + 1 : at.end() + 1 + data[at.end()]] for at in _LOCATION.finditer(data))
    beside = {name.decode("utf-8", "replace") for name in names}
    return {source.name: data} | {
        name: (source.parent / name).read_bytes() for name in beside if (source.parent / name).is_file()
    }


def _modules(source: Path) -> dict[str, bytes]:
    """A Python file and those beside it that it imports, by name."""
    waiting, seen = [source.name], dict[str, bytes]()
    while waiting:
        path = source.parent / waiting.pop()
        if path.name not in seen and (path == source or path.is_file()):
            waiting += imported(path)
            seen[path.name] = path.read_bytes()
    return seen


def compile_own(
    row: Row, gfx: str, out: Path, root: Path = Path(), defects: Collection[DefectName] = ()
) -> None:
    """Compile a source of the user's to ``out``; it appears there only when it is whole.

    Raises:
        EngineError: the compiler is missing or fails, or a code object is broken or for another GPU.
    """
    source = (root / row.program).resolve()
    check_gpu(source, gfx)
    compiler = own_compiler(source, gfx, defects)
    if language(source) != "object":
        compile_source(source, row, gfx, compiler, out)
        return
    data = source.read_bytes()
    found = read_code_object(data, source)
    if found.gfx != gfx:
        raise EngineError(
            f"the code object is for {found.gfx}, the machine is a {gfx}",
            file=source,
            key="source",
            remedy=f"compile it for {gfx}; with {{gfx}} in its name, source names one file for each GPU",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(out) as part:
        part.write_bytes(compiler.finish(data))


def kept_object(program: str, arguments: str, gfx: str, root: Path) -> Path:
    """A code object for the preview, compiled once and then kept; raises as :func:`compiled`."""
    made = own_object(program, arguments, "", gfx, root)
    out = root / paths.preview_object(gfx, made.name)
    if not out.exists():
        try:
            compile_own(made.row, gfx, out, root)
        except CompilerFailure as error:
            raise error.with_messages(root / program) from None
    return out


@contextmanager
def compiled_meanwhile(
    source: Path, arguments: str, gfx: str, root: Path = Path(), defects: Collection[DefectName] = ()
) -> Iterator[Path]:
    """A code object that is removed in the end; raises as :func:`compiled`."""
    code = compiled(str(source), arguments, gfx, root, defects)
    try:
        yield code
    finally:
        shutil.rmtree(code.parent)


def compiled(
    program: str, arguments: str, gfx: str, root: Path = Path(), defects: Collection[DefectName] = ()
) -> Path:
    """A code object in a new temporary directory, which the caller removes.

    Raises:
        EngineError: as :func:`compile_own`; in place of a log it has the compiler's lines.
    """
    directory = Path(tempfile.mkdtemp(prefix="apuflow-kernels-"))
    out = directory / "kernels.o"
    try:
        compile_own(Row(program, arguments), gfx, out, root, defects)
    except CompilerFailure as error:
        failure = error.with_messages(root / program)
        shutil.rmtree(directory)
        raise failure from None
    except BaseException:
        shutil.rmtree(directory)
        raise
    return out
