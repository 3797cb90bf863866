"""A file of Triton kernels, read without running it: its functions, and the statements that one needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.core.errors import ConfigError

_JIT: Final = ("triton.jit", "jit")
TUNERS: Final = ("triton.autotune", "autotune", "triton.heuristics", "heuristics")
"""Decorators that choose constexprs when a kernel is launched."""
_NVIDIA: Final = re.compile(r"\b(?:cuda|nvidia|gluon)\b|tensor_descriptor|_descriptor_(?:load|store)")
_PTX: Final = re.compile(r"\b[a-z]\w*(?:\.\w+)*\.[busf](?:8|16|32|64)\b")
"""An instruction of PTX, as ``cvt.rn.f16.f32``; AMD's have no dots."""


class Function(NamedTuple):
    """A function of a file.

    Attributes:
        parameters: in order. constexprs: those of them that are annotated so. defaults: those with a value.
        jitted: it has ``@triton.jit``. tuners: its other decorators that choose constexprs.
    """

    name: str
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    defaults: frozenset[str]
    jitted: bool
    tuners: tuple[str, ...]


def dotted(node: ast.expr) -> str:
    """``triton.jit`` of such an expression, or of a call of it; empty: something else."""
    match node:
        case ast.Call(func=called):
            return dotted(called)
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}".lstrip(".")
        case ast.Name(id=name):
            return name
    return ""


def parsed(source: Path) -> ast.Module:
    """The statements of a file.

    Raises:
        ConfigError: it cannot be read, or is not Python.
    """
    try:
        return ast.parse(source.read_bytes(), str(source))
    except OSError as error:
        raise ConfigError(
            f"cannot read the kernels' source: {error.strerror}",
            file=source,
            key="source",
            remedy="put it there, or correct source in the workload's file",
        ) from None
    except (SyntaxError, ValueError) as error:
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise ConfigError(f"not a file of Python: {line}", file=source, key="source") from None


@lru_cache(maxsize=256)
def functions(source: Path) -> Mapping[str, Function]:
    """The functions of a file, by name; raises as :func:`parsed`."""
    return {each.name: _function(each) for each in defined(parsed(source).body)}


def defined(statements: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The functions that statements define, also under conditions."""
    for each in statements:
        if isinstance(each, ast.FunctionDef):
            yield each
        elif isinstance(each, (ast.If, ast.Try, ast.With)):
            yield from defined(node for node in ast.iter_child_nodes(each) if isinstance(node, ast.stmt))


def _function(node: ast.FunctionDef) -> Function:
    given = (*node.args.posonlyargs, *node.args.args)
    first = len(given) - len(node.args.defaults)
    named = [*given, *node.args.kwonlyargs]
    defaults = [each.arg for each in given[first:]]
    defaults += [
        each.arg
        for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if value is not None
    ]
    decorators = [dotted(each) for each in node.decorator_list]
    return Function(
        node.name,
        tuple(each.arg for each in named),
        frozenset(each.arg for each in named if each.annotation and _is_constexpr(each.annotation)),
        frozenset(defaults),
        any(name in _JIT for name in decorators),
        tuple(name for name in decorators if name in TUNERS),
    )


def _is_constexpr(annotation: ast.expr) -> bool:
    text = annotation.value if isinstance(annotation, ast.Constant) else dotted(annotation)
    return str(text).rpartition(".")[2] == "constexpr"


def needed(tree: ast.Module, name: str) -> list[ast.stmt]:
    """The statements of a file that a function of it needs: imports, values, functions; in their order.

    What a file does besides, such as benchmarks on a GPU, is not among them.
    """
    binding: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for bound in _bound(statement):
            binding.setdefault(bound, []).append(statement)
    waiting, found, seen = [name], set[ast.stmt](), set[str]()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        for statement in binding.get(wanted, ()):
            if statement not in found:
                found.add(statement)
                waiting += _used(statement)
    return [statement for statement in tree.body if statement in found or _is_future(statement)]


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case ast.If() | ast.Try() | ast.With() | ast.Assign() | ast.AnnAssign():
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
                elif isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom)):
                    yield from _bound(node)


def _used(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement reads; a tuner's arguments are none of them."""
    for function in defined([statement]):
        function.decorator_list = [each for each in function.decorator_list if dotted(each) not in TUNERS]
    local = {each.arg for each in ast.walk(statement) if isinstance(each, ast.arg)}
    if isinstance(statement, ast.FunctionDef):
        local |= {name for name, read in _names(statement) if not read}
    yield from (name for name, read in _names(statement) if read and name not in local)


def _names(statement: ast.stmt) -> Iterator[tuple[str, bool]]:
    """The names in a statement, and whether it reads them there."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id, isinstance(node.ctx, ast.Load)


@lru_cache(maxsize=256)
def foreign(source: Path, name: str) -> str | None:
    """What a kernel uses that NVIDIA's GPUs alone have, with its line; None: nothing that is known."""
    for function in defined(needed(parsed(source), name)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and dotted(node).endswith("inline_asm_elementwise"):
                texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
                if any(isinstance(text, str) and _PTX.search(text) for text in texts):
                    return f"PTX instructions (line {node.lineno})"
            elif isinstance(node, ast.Attribute) and _NVIDIA.search(dotted(node)):
                return f"{dotted(node)} (line {node.lineno})"
    return None


def imported(source: Path) -> list[str]:
    """Names of the files beside a source that it may import."""
    names = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module] if node.module else [each.name for each in node.names]
    return [f"{name.partition('.')[0]}.py" for name in names]
