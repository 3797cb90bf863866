"""Compile one Triton launch ahead of time, in a process of its own (``-m apuflow.kernels.triton_process``).

No GPU and no ROCm take part. The code object says all that a launch must know: its LDS, which Triton leaves
to its own launcher, and that the pointers behind the kernel's arguments are null.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import yaml

from apuflow.kernels.triton_file import needed, parsed
from apuflow.launcher.corrections import corrected

_SETTINGS: Final = ("TRITON_", "AMDGCN_", "MLIR_", "LLVM_", "DISABLE_")
"""Of the environment: what would compile otherwise than the object's name says."""
_METADATA: Final = re.compile(r"(?<=\.amdgpu_metadata\n)---\n(.*?)\n\.\.\.\n", re.DOTALL)
_FP8: Final = re.compile(r"\bv_(?:s?mfma\w*|smfmac\w*)_(?:fp8|bf8)_\w+")


class Refused(Exception):
    """Why a kernel is not compiled, for its user."""


def main(words: list[str] | None = None) -> int:
    """Exit status 1, with a message as a compiler's, where the kernel cannot be compiled."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="out", type=Path, required=True)
    parser.add_argument("--gfx", required=True)
    parser.add_argument("--launch", type=json.loads, required=True)
    parser.add_argument("--features", default="")
    parser.add_argument("--defects", default="")
    given = parser.parse_args(words)
    for name in [name for name in os.environ if name.startswith(_SETTINGS)]:
        del os.environ[name]
    place = str(given.out.parent.resolve())
    os.environ |= {
        "TRITON_HOME": place,
        "TRITON_CACHE_DIR": f"{place}/triton",
        "TRITON_DEFAULT_FP_FUSION": "1",
        "TRITON_DISABLE_LINE_INFO": "1",
        "AMDGCN_USE_BUFFER_ATOMICS": "0",  # no gem5 executes buffer_atomic_...
    }
    try:
        defects = [name for name in given.defects.split(",") if name]
        given.out.write_bytes(_compiled(given.source, given.gfx, given.launch, given.features, defects))
    except Refused as error:
        print(f"{given.source}: error: {error}", file=sys.stderr)
    except Exception as error:
        print(_located(error, given.source), file=sys.stderr)
    else:
        return 0
    return 1


def _compiled(source: Path, gfx: str, order: Mapping[str, Any], features: str, defects: list[Any]) -> bytes:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = vars(_loaded(source, order["kernel"]))[order["kernel"]]
    names = list(function.arg_names)
    signature = order["signature"]
    constants = {
        name: parameter.default
        for name, parameter in function.signature.parameters.items()
        if name not in signature and parameter.default is not parameter.empty
    } | {name: _constant(value) for name, value in order["constexprs"].items()}
    with _changing(lambda text, facts: _changed(text, facts, list(signature), defects), features):
        made = triton.compile(
            ASTSource(
                function,
                {name: signature.get(name, "constexpr") for name in names},
                {(names.index(name),): value for name, value in constants.items()},
                {(names.index(name),): [["tt.divisibility", 16]] for name in order["divisible_by_16"]},
            ),
            target=GPUTarget("hip", gfx, 64),
            options=dict(order["options"]),
        )
    code: bytes = made.asm["hsaco"]
    return code


def _loaded(source: Path, kernel: str) -> ModuleType:
    """A module of the statements that a kernel needs; they keep their lines, as Triton reads the file."""
    sys.path.insert(0, str(source.parent))
    module = ModuleType(f"apuflow_kernels_{source.stem}")
    module.__file__ = str(source)
    sys.modules[module.__name__] = module
    tree = parsed(source)
    exec(compile(ast.Module(needed(tree, kernel), []), str(source), "exec"), vars(module))  # noqa: S102
    return module


def _constant(value: Any) -> Any:
    """A constexpr as Triton takes it."""
    if not isinstance(value, dict):
        return value
    import triton.language as tl

    return tl.dtype(value["type"])


@contextlib.contextmanager
def _changing(change: Callable[[str, Mapping[str, Any]], str], features: str) -> Iterator[None]:
    """Have Triton change its assembly, and read all arguments from memory, not from preloaded registers.

    Args:
        features: of the GPU, for all functions: as an attribute of one they would keep others out of it.
    """
    from triton.backends.amd import compiler as backend

    written = backend.HIPBackend.make_amdgcn

    def make_amdgcn(src: Any, metadata: Any, options: Any) -> str:
        return change(written(_without(src, features), metadata, options), metadata)

    backend.amd.set_all_fn_arg_inreg = lambda _function: None
    backend.HIPBackend.make_amdgcn = staticmethod(make_amdgcn)
    yield


def _without(code: str, features: str) -> str:
    """LLVM's code with these features of the GPU at every function."""
    plain = re.sub(r' "target-features"="[^"]*"', "", code)
    return re.sub(r"^(attributes #\d+ = \{)", rf'\1 "target-features"="{features}"', plain, flags=re.M)


def _changed(text: str, facts: Mapping[str, Any], names: list[str], defects: list[Any]) -> str:
    for what in ("global_scratch_size", "profile_scratch_size"):
        if facts.get(what):
            raise Refused(
                f"the kernel wants {facts[what]} bytes of {what.removesuffix('_size')}, which only Triton's "
                "own launcher allocates (descriptors of tensors in device memory): use pointers"
            )
    if defects and (found := _FP8.search(text)):
        raise Refused(
            f"{found[0]}: gem5 executes no matrix instruction of fp8 or bf8. gfx90a computes such a "
            "product in fp32; or convert to fp16 before tl.dot"
        )
    lds = facts["shared"]
    text = re.sub(r"(\.amdhsa_group_segment_fixed_size) \d+", rf"\1 {lds}", text)
    text = _METADATA.sub(lambda found: f"---\n{_described(found[1], names, lds)}...\n", text)
    return corrected(text, defects) if defects else text


def _described(text: str, names: list[str], lds: int) -> str:
    """The metadata with the launch's LDS, the arguments' names, and the pointers behind them as null."""
    document = yaml.safe_load(text)
    (kernel,) = document["amdhsa.kernels"]
    arguments = kernel[".args"]
    for name, argument in zip(names, arguments, strict=False):
        argument[".name"] = name
    for argument in arguments[len(names) :]:
        if argument[".value_kind"] == "global_buffer":
            argument[".value_kind"] = "hidden_none"
    kernel[".group_segment_fixed_size"] = lds
    return str(yaml.safe_dump(document, sort_keys=False))


def _located(error: Exception, source: Path) -> str:
    """An error as compilers write it, with the innermost place that lies in ``source``."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.jit import JITCallable

    met = [error]
    while isinstance(met[-1].__cause__, Exception):
        met.append(met[-1].__cause__)
    inner = met[-1]
    what = (inner.error_message if isinstance(inner, CompilationError) else None) or (
        str(inner) if not isinstance(inner, CompilationError) else "it does not compile"
    )
    beside = [module for module in sys.modules.values() if _lies_in(module, source.parent)]
    functions = [each for module in beside for each in vars(module).values() if isinstance(each, JITCallable)]
    for each in reversed(met):
        if not isinstance(each, CompilationError) or not hasattr(each.node, "lineno"):
            continue
        place = next((one for one in functions if one.src == each.src and one.file_name == str(source)), None)
        if place is not None:
            line = place.def_file_line_number + each.node.lineno - 1
            shown = source.read_text(encoding="utf-8").splitlines()[line - 1]
            return f"{source}:{line}:{each.node.col_offset + 1}: error: {what}\n{shown}"
    return f"{source}: error: {type(inner).__name__}: {what}"


def _lies_in(module: ModuleType, directory: Path) -> bool:
    file = vars(module).get("__file__")
    return isinstance(file, str) and Path(file).parent == directory


if __name__ == "__main__":
    sys.exit(main())
