"""IREE's compiler: a model of tensors (MLIR, or ONNX through its importer) to code objects and HAL text.

It needs no GPU and no ROCm. It is a package of programs, which run in processes of their own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final, Literal, NamedTuple

from apuflow.core.errors import ConfigError
from apuflow.miopen.compiler import Compiler, assembler, host_compiler

IREE: Final = "3.13.0"
IREE_REMEDY: Final = f"pip install apuflow[iree] (iree-base-compiler=={IREE}, iree-base-runtime=={IREE})"
IREE_GPUS: Final = ("gfx90a", "gfx942")
"""GPUs that it compiles for and gem5 runs code of."""
_ALWAYS: Final = ("--iree-hal-target-backends=rocm", "--mlir-print-elementsattrs-with-hex-if-larger=0")
_CPU: Final = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic")
_ERROR: Final = re.compile(r"^(?:<unknown>|\S.*?):(\d+):(?:\d+:)? error: (.*)$", re.MULTILINE)
_FUNCTION: Final = re.compile(r'"?\w+\.?func"? ?public|"func\.func"|\(\{.*', re.DOTALL)
_CONSEQUENCE: Final = ("failed to legalize operation 'stream.executable'", "failed to run translation")
"""Begin of errors that follow from one that says more."""
_LONGEST: Final = 300


class Compiled(NamedTuple):
    """What IREE made of a model for a GPU.

    Attributes:
        text: the module in HAL's dialect: buffers, launches, constants.
        directory: has the code objects (``*.hsaco``) and their assembly (``*.rocmasm``).
    """

    text: str
    directory: Path


def check_iree() -> None:
    """Raise ConfigError if IREE's compiler or runtime is not installed, or is another version."""
    for package in ("iree-base-compiler", "iree-base-runtime"):
        try:
            found = distribution(package).version
        except PackageNotFoundError:
            raise ConfigError(
                f"IREE is not installed: no package {package}", key="source", remedy=IREE_REMEDY
            ) from None
        if found != IREE:
            message = f"{package}: only version {IREE} is known to give launches that are read here"
            raise ConfigError(message, key="source", value=found, remedy=IREE_REMEDY)


@contextmanager
def compiled_model(source: Path, gfx: str, flags: Sequence[str] = ()) -> Iterator[Compiled]:
    """A model compiled for a GPU; its directory is removed in the end.

    Args:
        flags: more of iree-compile's.

    Raises:
        ConfigError: it does not compile, the GPU is none of IREE's, or IREE is not installed.
    """
    if gfx not in IREE_GPUS:
        remedy = f"a machine with one of {', '.join(IREE_GPUS)}"
        raise ConfigError(
            "IREE does not compile for this GPU here", key="gfx-version", value=gfx, remedy=remedy
        )
    with _working() as work:
        model, text, objects = _imported(source, work), work / "model.hal", work / "objects"
        words = (*_ALWAYS, f"--iree-rocm-target={gfx}", f"--iree-hal-dump-executable-files-to={objects}")
        _run(source, (_program("compile"), model, *words, *flags, "--compile-to=hal", "-o", text), work)
        objects.mkdir(exist_ok=True)
        yield Compiled(text.read_text(encoding="utf-8"), objects)


def computed_on_cpu(
    source: Path, function: str, inputs: Sequence[tuple[str, bytes]], results: int
) -> tuple[bytes, ...]:
    """What a model's function computes on the CPU of this machine: the bytes of each result.

    Args:
        inputs: type and bytes of each argument, as ``("2x3xf32", b"...")``.

    Raises:
        ConfigError: it does not compile or run, or IREE is not installed.
    """
    with _working() as work:
        model, module = _imported(source, work), work / "model.vmfb"
        _run(source, (_program("compile"), model, *_CPU, "-o", module), work)
        words = ["--device=local-sync", f"--module={module}", f"--function={function}"]
        for number, (shape, data) in enumerate(inputs):
            (work / f"in{number}.bin").write_bytes(data)
            words.append(f"--input={shape}=@in{number}.bin")
        words += [f"--output=@out{number}.bin" for number in range(results)]
        _run(source, (_program("run"), *words), work)
        return tuple((work / f"out{number}.bin").read_bytes() for number in range(results))


@contextmanager
def _working() -> Iterator[Path]:
    check_iree()
    work = Path(tempfile.mkdtemp(prefix="apuflow-iree-")).resolve()
    try:
        yield work
    finally:
        shutil.rmtree(work)


def _program(which: Literal["compile", "run"]) -> Path:
    package, file = {
        "compile": ("iree-base-compiler", "iree/compiler/_mlir_libs/iree-compile"),
        "run": ("iree-base-runtime", "iree/_runtime_libs/iree-run-module"),
    }[which]
    return Path(str(distribution(package).locate_file(file)))


def _imported(source: Path, work: Path) -> Path:
    """The model as MLIR: itself, or what IREE's importer makes of ONNX."""
    if source.suffix != ".onnx":
        return source.resolve()
    try:
        distribution("onnx")
    except PackageNotFoundError:
        remedy = "pip install apuflow[iree,onnx]"
        raise ConfigError(
            "the package onnx is not installed", key="source", value=source.name, remedy=remedy
        ) from None
    model = work / "model.mlir"
    words = (sys.executable, "-P", "-m", "iree.compiler.tools.import_onnx", source.resolve(), "-o", model)
    _run(source, words, work)
    return model


def _run(source: Path, command: Sequence[str | Path], work: Path) -> None:
    """Run one of IREE's programs; ConfigError with the first thing that it complains of."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=work,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        message = f"cannot start IREE: {error.strerror}"
        raise ConfigError(message, value=str(command[0]), remedy=IREE_REMEDY) from None
    if done.returncode != 0:
        message = f"IREE cannot compile the model: {complaint(done.stderr)}"
        raise ConfigError(
            message, file=source, key="source", remedy="correct the model; iree-compile says more"
        )


def complaint(text: str) -> str:
    """What IREE's messages say first, on one line, without the operation that it prints behind them."""
    found = [(int(line), what) for line, what in _ERROR.findall(text)]
    telling = [each for each in found if not each[1].startswith(_CONSEQUENCE)]
    if not found:
        lines = text.strip().splitlines() or ["it ends without a message"]
        return lines[-1][:_LONGEST]
    line, what = (telling or found)[0]
    what = _FUNCTION.sub("...", what)[:_LONGEST]
    return f"line {line}: {what}" if line else what


def iree_assembler() -> Compiler:
    """clang as an assembler of IREE's text, which asks for a release that knows all of its GPUs.

    Raises:
        EngineError: there is none.
    """
    return assembler(host_compiler(code_object=5, gfx=IREE_GPUS[-1]))
