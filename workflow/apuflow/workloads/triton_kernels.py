"""``apuflow new workload --from kernel.py``: a file to fill in for the Triton kernels of a Python file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.kernels.triton_file import Function, defined, dotted, functions, parsed
from apuflow.workloads.fill_in import SIZE, Draft, write_draft

_POINTED: Final = ("load", "store", "make_block_ptr")
"""Functions of ``tl``, and ``atomic_...``, whose first argument is an address."""
_REAL: Final = ("eps", "scale", "alpha", "beta", "prob", "slope")
"""In the names of parameters that are numbers with a point."""


def import_kernels(path: Path, name: str, root: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write the workload of a file of Triton kernels, a copy of that file, and a reference to fill in.

    Every ``@triton.jit`` function that returns nothing and that no other one calls becomes a launch.
    Returns the files.

    Raises:
        ConfigError: the name cannot be used, or the file has no such function.
    """
    check_new_name(name, "workload", root / paths.workload_file(name), force=force)
    tree = parsed(path)
    helpers = {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    helpers |= {each.name for each in defined(tree.body) if _returns(each)}
    kernels = [each for each in functions(path).values() if each.jitted and each.name not in helpers]
    if not kernels:
        what, remedy = (
            "the file has no function with @triton.jit to launch",
            "name the file that has the kernels",
        )
        raise ConfigError(what, file=path, key="--from", remedy=remedy)
    content, outputs = _document(tree, kernels, f"{name}/{path.name}")
    draft = Draft(content, outputs, "grids (in programs)", "docs/howto/run-triton-kernels.md")
    return write_draft(draft, path, name, root)


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _document(tree: ast.Module, kernels: list[Function], source: str) -> tuple[dict[str, Any], list[str]]:
    """The workload, and the buffers that its kernels write."""
    parameters: dict[str, int] = {"warps": 4}
    buffers: dict[str, dict[str, Any]] = {}
    launches = []
    outputs: dict[str, None] = {}
    for kernel in kernels:
        body = next(each for each in defined(tree.body) if each.name == kernel.name)
        read, written = set(_pointers(body, "load")), set(_pointers(body, "store"))
        arguments: list[str | float] = []
        for name in kernel.parameters:
            if name in kernel.constexprs:
                continue
            arguments.append(name)
            if name in read | written or "ptr" in name.lower():
                contents = "touch" if name in written - read else "uniform"
                buffers.setdefault(name, {"type": "float", "elements": "n", "contents": contents})
                outputs |= dict.fromkeys([name] if name in written else [])
            elif any(word in name.lower() for word in _REAL):
                arguments[-1] = 1.0
            else:
                parameters[name] = SIZE
        constants = [name for name in kernel.parameters if name in kernel.constexprs - kernel.defaults]
        parameters |= dict.fromkeys(constants, SIZE)
        launches.append(
            {
                "kernel": kernel.name,
                "grid": [1],
                "arguments": arguments,
                "constexprs": {name: name for name in constants},
                "num_warps": "warps",
            }
        )
    parameters.setdefault("n", SIZE * SIZE)
    document = {"description": f"Triton kernels of {Path(source).name}", "kind": "kernels", "source": source}
    return {**document, "parameters": parameters, "buffers": buffers, "launches": launches}, list(outputs)


def _pointers(body: ast.FunctionDef, kind: str) -> Iterator[str]:
    """Parameters that a kernel loads from (``load``) or stores to: what its addresses begin with."""
    names = {each.arg for each in body.args.args}
    local = {
        target.id: node.value
        for node in ast.walk(body)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(body):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = dotted(node).rpartition(".")[2]
        stores = function == "store" or function.startswith("atomic_")
        if (function in _POINTED or stores) and stores == (kind == "store"):
            name = _begin(node.args[0], local, set())
            yield from [name] if name in names else []


def _begin(node: ast.expr, local: dict[str, ast.expr], seen: set[str]) -> str | None:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return _begin(left, local, seen)
        case ast.Name(id=name) if name in local and name not in seen:
            return _begin(local[name], local, seen | {name}) or name
        case ast.Name(id=name):
            return name
        case ast.Call(args=[first, *_]):
            return _begin(first, local, seen)
    return None
