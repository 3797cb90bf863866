"""Compile kernel objects, each distinct one once."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from apuflow.core import paths
from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.miopen.compiler import (
    BrokenObject,
    CodeObject,
    Compiler,
    Runner,
    assembler,
    digest,
    read_code_object,
    run_on_host,
)
from apuflow.miopen.compiler_faults import spoilt
from apuflow.miopen.launch import Row

_NO_ROOM = 1 << 16
_INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class KernelObject:
    """An object to compile.

    Attributes:
        row: source file and compile arguments.
        gfx: GPU architecture.
        name: file name without extension: the program and a hash over arguments, gfx, compiler and sources.
    """

    row: Row
    gfx: str
    name: str

    def path(self, root: Path = Path()) -> Path:
        """Its path."""
        return root / paths.kernel_object(self.gfx, self.name)


def kernel_object(row: Row, gfx: str, compiler: str, sources: str) -> KernelObject:
    """The object of a row.

    Args:
        compiler: the compiler's identity.
        sources: identity of MIOpen's sources: a commit, or ``sources_identity`` of a directory.

    Raises:
        EngineError: the compiler is known to compile this kernel wrongly.
    """
    if (problem := spoilt(row, gfx, compiler)) is not None:
        raise problem
    stem = Path(row.program).stem
    name = f"{stem}-{digest(row.program, row.arguments.strip(), gfx, compiler, sources)}"
    return KernelObject(row, gfx, name)


@lru_cache(maxsize=256)
def sources_identity(kernels: Path, program: str) -> str:
    """Hash over a kernel source and the files of its directory that it includes.

    Args:
        kernels: MIOpen's ``src/kernels``.

    Raises:
        ConfigError: the source is not there.
    """
    waiting, seen = [program], dict[str, bytes]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        if name == program:
            seen[name] = kernel_source(kernels, program).read_bytes()
        elif (kernels / name).is_file():
            seen[name] = (kernels / name).read_bytes()
        else:
            continue
        waiting += (match.decode("utf-8", "replace") for match in _INCLUDE.findall(seen[name]))
    return digest(*(f"{name}\0{seen[name].hex()}" for name in sorted(seen)))


def kernel_source(kernels: Path, program: str) -> Path:
    """Source file of a program.

    Raises:
        ConfigError: no such file, or not an OpenCL source of that directory.
    """
    source = kernels / program
    if Path(program).name != program or not program.endswith(".cl") or not source.is_file():
        raise ConfigError(
            "no such OpenCL source among MIOpen's kernels",
            file=kernels,
            key="program",
            value=program,
            remedy="point to src/kernels of MIOpen at the release's tag, and name one of its .cl files",
        )
    return source


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


def compile_object(
    row: Row,
    gfx: str,
    compiler: Compiler,
    kernels: Path,
    out: Path,
    *,
    run: Runner = run_on_host,
    expect: Collection[str] = (),
) -> CodeObject:
    """Compile one kernel object to ``out``, which appears only when whole; ``<out>.log`` has the messages.

    Args:
        row: source file and compile arguments; errors name its layer.
        kernels: MIOpen's ``src/kernels``.
        run: starts commands on the host or in a container.
        expect: kernels that the object must hold.

    Raises:
        EngineError: the compiler fails or leaves no valid object; the message names the layer.
        ConfigError: no such source, or arguments that cannot be split.
    """
    source = kernel_source(kernels, row.program).resolve()
    return compile_source(source, row, gfx, compiler, out, run=run, expect=expect)


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
    """Compile any source as compile_object does; ``row`` has the arguments and names it in errors."""
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
            kernel_object, data = _checked(made, status, gfx, expect, (row, compiler, log, command))
        with atomic_write(out) as part:
            part.write_bytes(data)
    except OSError as error:
        raise EngineError(
            f"cannot write the kernel object: {error.strerror}",
            file=out,
            remedy="make the directory writable",
        ) from None
    return kernel_object


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


def _checked(
    made: Path,
    status: int,
    gfx: str,
    expect: Collection[str],
    context: tuple[Row, Compiler, Path, list[str]],
) -> tuple[CodeObject, bytes]:
    """The compiled object, checked."""
    if status != 0:
        raise _failure(f"exit status {status}", gfx, *context)
    if not made.is_file():
        raise _failure("it says success, but wrote no object", gfx, *context)
    data = made.read_bytes()
    try:
        code_object = read_code_object(data)
    except BrokenObject as error:
        raise _failure(error.message, gfx, *context) from None
    if code_object.gfx != gfx or not set(expect) <= set(code_object.kernels):
        raise _failure(
            f"it wrote an object for {code_object.gfx} with {', '.join(code_object.kernels)}", gfx, *context
        )
    return code_object, data


_LINES_SHOWN = 40


class CompilerFailure(EngineError):
    """The compiler failed or left no valid object; ``file`` is its log."""

    def with_messages(self, source: Path) -> CompilerFailure:
        """The same error for ``source`` with the log's lines instead of the log, which is removed."""
        lines = _lines(Path(self.file)) if self.file else []
        more = [f"... and {len(lines) - _LINES_SHOWN} lines more"] if len(lines) > _LINES_SHOWN else []
        reason = self.message.partition("\n")[0]
        return CompilerFailure(
            "\n  ".join([reason, *lines[:_LINES_SHOWN], *more]),
            file=source,
            key=self.key,
            value=self.value,
            remedy="translate CUDA's names to HIP's (hipify-perl), or leave the host side out"
            if any("identifier 'cuda" in line for line in lines)
            else "correct what the compiler names",
        )


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


@dataclass(frozen=True)
class Built:
    """Result of building a set of objects.

    Attributes:
        made: compiled by this call.
        kept: existed already.
        failed: the rest, each with its error.
    """

    made: tuple[KernelObject, ...]
    kept: tuple[KernelObject, ...]
    failed: tuple[tuple[KernelObject, ApuflowError], ...]

    def check(self) -> None:
        """Raise an error that names all failed objects."""
        if not self.failed:
            return
        details = "\n".join(str(error) for _, error in self.failed)
        raise EngineError(
            f"{len(self.failed)} of {len(self.made) + len(self.kept) + len(self.failed)} kernel objects "
            f"failed:\n{details}",
            remedy="correct these; the others are compiled and are kept",
        )


def build_objects(
    objects: Iterable[KernelObject],
    compiler: Compiler,
    kernels: Path,
    *,
    root: Path = Path(),
    jobs: int = 1,
    run: Runner = run_on_host,
) -> Built:
    """Compile missing and broken objects, ``jobs`` at a time; the others continue after a failure."""
    wanted = {item.name + item.gfx: item for item in objects}.values()
    kept = [item for item in wanted if _is_whole(item.path(root))]
    missing = [item for item in wanted if item not in kept]

    def make(item: KernelObject) -> ApuflowError | None:
        try:
            compile_object(item.row, item.gfx, compiler, kernels, item.path(root), run=run)
        except ApuflowError as error:
            return error
        return None

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        outcomes = list(zip(missing, pool.map(make, missing), strict=True))
    return Built(
        tuple(item for item, error in outcomes if error is None),
        tuple(kept),
        tuple((item, error) for item, error in outcomes if error is not None),
    )


def _is_whole(path: Path) -> bool:
    try:
        read_code_object(path.read_bytes())
    except (OSError, BrokenObject):
        return False
    return True
