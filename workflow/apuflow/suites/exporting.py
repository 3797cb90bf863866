"""Exports PyTorch modules on the meta device: what is exported, its inputs, and why it cannot be."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.suites.models import OTHER_TYPE, Dims, Problem

TYPES: Final = {"float32": "float", "float16": "half", "bfloat16": "bfloat16"}
"""Types of numbers, by torch's name."""
OF_NUMBERS: Final = "make it float32, float16 or bfloat16"
USUAL: Final = {"n": 1}
"""Values of names in shapes; of others 128."""
_OTHER_NUMBERS: Final = {"sparse": "sparse", "quantized": "quantised"}
"""Numbers that torch's errors are about, by a word in them."""
_DEPENDS: Final = ("data-dependent", "GuardOnDataDependent")


@dataclass(frozen=True)
class Input:
    """A tensor that a module takes: sizes and names of sizes, its type by torch's name ("": the module's)."""

    dims: tuple[int | str, ...]
    type: str

    def sized(self, values: Mapping[str, int]) -> Dims:
        """Its shape for values of the names."""
        return tuple(values[dim] if isinstance(dim, str) else dim for dim in self.dims)


def inputs_of(text: str) -> tuple[list[Input], dict[str, int]]:
    """Inputs and names of a text such as ``nx3x224x224`` or ``nxsequence=64:int64,nxsequence:int64``.

    Raises ConfigError: it is no such text.
    """
    found: list[Input] = []
    names: dict[str, int] = {}
    for part in text.split(","):
        shape, _, kind = part.partition(":")
        dims: list[int | str] = []
        for dim in shape.split("x"):
            name, _, value = dim.partition("=")
            whole = name.isdigit() and int(name) and not value
            if not whole and (not name.isidentifier() or (value and not (value.isdigit() and int(value)))):
                remedy = "sizes and names with x between: nx3x224x224, nxsequence:int64, nxsequence=64x768"
                raise ConfigError("not a shape", key="shape", value=text, remedy=remedy)
            dims.append(int(name) if whole else name)
            if not whole:
                names[name] = int(value) if value else names.get(name, USUAL.get(name, 128))
        found.append(Input(tuple(dims), kind))
    return found, names


def export(torch: Any, model: Any, inputs: list[Input], names: dict[str, int]) -> tuple[Any, dict[str, int]]:
    """The exported program, and the sample of each size that the module leaves open."""
    numbers = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    while True:
        samples: dict[str, int] = {}
        for name, value in names.items():
            value = max(value, 2)
            while value in samples.values():
                value += 1
            samples[name] = value
        args = [torch.zeros(one.sized(samples), dtype=getattr(torch, one.type, numbers)) for one in inputs]
        dynamic = torch.export.ShapesCollection()
        for tensor, one in zip(args, inputs, strict=True):
            of = {place: torch.export.Dim.AUTO for place, dim in enumerate(one.dims) if isinstance(dim, str)}
            dynamic[tensor] = of or None
        program = torch.export.export(model, tuple(args), dynamic_shapes=dynamic, strict=False)
        given = set(program.graph_signature.user_inputs)
        tensors = [node for node in given_nodes(program.graph) if node.name in given]
        fixed = {
            dim
            for node, one in zip(tensors, inputs, strict=True)
            for size, dim in zip(node.meta["val"].shape, one.dims, strict=True)
            if isinstance(dim, str) and str(size).isdigit()
        }
        if not fixed:
            return program, samples
        inputs = [
            Input(tuple(names[dim] if dim in fixed else dim for dim in one.dims), one.type) for one in inputs
        ]
        names = {name: value for name, value in names.items() if name not in fixed}


def given_nodes(graph: Any) -> list[Any]:
    """What a graph is given: its "placeholder" nodes, in torch's words."""
    return [node for node in graph.nodes if node.op == "placeholder"]


def failed(error: Exception, place: str) -> ConfigError:
    """What is wrong with a module that torch cannot export."""
    said = str(error)
    why = next(iter(said.splitlines()), "") or type(error).__name__
    remedy = "export it to ONNX instead, or import the part of it that torch.export takes"
    if any(words in said or words in type(error).__name__ for words in _DEPENDS):
        why = f"values of tensors decide what runs or how large a tensor is ({why})"
        remedy = "replace the branch (torch.where), or import the modules before and behind it"
    for word, what in _OTHER_NUMBERS.items():
        if word in said:
            why, remedy = f"it computes with {what} numbers ({why})", "dense float32, float16 or bfloat16"
    return ConfigError(f"torch cannot export this module: {why}", value=place, remedy=remedy)


def named(place: str) -> Any:
    """The module, class or function of that name. Raises ConfigError: there is none."""
    module, _, name = place.partition(":")
    try:
        if module.endswith(".py"):
            if not Path(module).is_file():
                raise ConfigError("no such file", file=module, remedy="write it as file.py:Name")
            sys.path.insert(0, str(Path(module).resolve().parent))
            module = Path(module).stem
        elif str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "write it as package.module:Name or file.py:Name"
        raise ConfigError(f"no such module: {error}", value=place, remedy=remedy) from None
    except ConfigError:
        raise
    except Exception as error:  # any error of the user's module
        what = f"the module cannot be imported: {type(error).__name__}: {error}"
        raise ConfigError(what, value=place, remedy=f"make `python -c 'import {module}'` work") from None


@contextlib.contextmanager
def quiet(torch: Any) -> Iterator[None]:
    """Without torch's messages, and without the operators that it has for inference on a device alone."""
    before, fast = logging.root.manager.disable, torch.backends.mha.get_fastpath_enabled()
    logging.disable(logging.CRITICAL)
    torch.backends.mha.set_fastpath_enabled(False)
    out, err = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    try:
        with out, err, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        torch.backends.mha.set_fastpath_enabled(fast)


def first_names(model: Any) -> dict[str, str]:
    """First name of each parameter by its other names, as of a layer that is used twice."""
    first: dict[int, str] = {}
    named = model.named_parameters(remove_duplicate=False)
    return {name: first.setdefault(id(tensor), name) for name, tensor in named}


def refused(torch: Any, model: Any) -> Iterator[Problem]:
    """Hooks, and tensors that are not plain numbers."""
    for name, module in model.named_modules():
        if module._forward_hooks or module._forward_pre_hooks:
            yield type(module).__name__, name, "a hook of it computes something, too: write it into forward"
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        kind = str(tensor.dtype).removeprefix("torch.")
        if kind not in TYPES and (tensor.is_floating_point() or tensor.is_complex()):
            yield f"{OTHER_TYPE}{kind}", name, OF_NUMBERS
        if tensor.layout != torch.strided or tensor.is_quantized:
            kind = "quantised" if tensor.is_quantized else "sparse"
            yield f"{OTHER_TYPE}{kind} numbers", name, f"{OF_NUMBERS}, dense"
