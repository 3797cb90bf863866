"""What the kernels should have computed, by the user's own Python file, against what they left.

The file has a function ``expected(buffers, parameters)``: NumPy arrays by buffer before the first launch in,
arrays by buffer after the last launch out, those of ``outputs``. A buffer with ``contents: reference`` starts
with what ``contents(parameters)`` of the file returns for it. The reference of a model without such a file is
what its compiler makes of it for the CPU.
"""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import ConfigError
from apuflow.core.record import Results
from apuflow.kernels.element_types import NUMPY_TYPES, ElementType, numbers, rounded, stored
from apuflow.kernels.iree_compiler import computed_on_cpu
from apuflow.kernels.program import Model, Output, OwnProgram, initial_value
from apuflow.launcher.judge import LARGEST, judged
from apuflow.launcher.known import NOTHING, Known
from apuflow.launcher.reference import TOLERANCE, difference

Array: TypeAlias = NDArray[np.generic]
_TOLERANCES: Final[Mapping[ElementType, float]] = {"half": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}
"""Of 16 bits: two units in the last place of the largest element. Of 32 and 64 it is the launcher's."""


@dataclass(frozen=True)
class OwnJudge:
    """Judges a process that ran kernels of the user's own.

    Attributes:
        files: where it left each output of the program, below its directory; empty: they are too large.
        objects: its code objects.
        known: of the instructions of its gem5.
        cut: not all workgroups were launched: what the others would have written nobody knows.
    """

    program: OwnProgram
    files: tuple[Path, ...]
    objects: tuple[Path, ...]
    known: Known = NOTHING
    cut: bool = False

    def results(self, directory: Path) -> Results:
        """Compare the outputs in a finished process's ``directory``; those that agree are removed."""
        program = self.program
        if not program.compared:
            return Results(note="the workload names no reference")
        if self.cut:
            return Results(note="not all of its workgroups were launched (key workgroups of the sweep)")
        if not self.files:
            return Results(note=f"its outputs have more elements than are compared ({LARGEST:,})")
        try:
            wanted = expected_outputs(program)
        except ConfigError as error:
            return Results(note=str(error))
        errors: dict[str, float] = {}
        allowed: dict[str, float] = {}
        for name, file in zip(program.outputs, self.files, strict=True):
            output = program.output(name)
            try:
                raw = np.fromfile(directory / file, np.uint8)
            except OSError as error:
                return Results(note=self.explained(f"an output is missing: {error}"))
            errors[name] = difference(output.values(raw), wanted[name])
            allowed[name] = tolerance(program, output)
        files = dict(zip(program.outputs, (directory / file for file in self.files), strict=True))
        return judged(errors, allowed, files, "its reference", self.explained)

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return self.known.explained(text, self.objects)


def tolerance(program: OwnProgram, output: Output) -> float:
    """Largest difference of an output, relative to its largest element, that counts as equal.

    Of a model it is that of the shortest numbers among its arguments and the output.
    """
    if program.tolerance is not None:
        return program.tolerance
    if np.dtype(NUMPY_TYPES[output.type]).kind != "f":
        return 0.0
    inputs = program.model.inputs if program.model else ()
    types = {output.type, *(program.buffer(name).type for name, _ in inputs)}
    return max(_TOLERANCES.get(each, TOLERANCE) for each in types)


def expected_outputs(program: OwnProgram) -> Mapping[str, Array]:
    """What the reference says of each output.

    Raises:
        ConfigError: the reference fails, or returns something else.
    """
    made = made_contents(program)
    before = {
        buffer.name: made[buffer.name] if buffer.name in made else initial_value(buffer)
        for buffer in program.buffers
    }
    if program.reference is None and program.model is not None:
        inputs = tuple(
            stored(before[name], program.buffer(name).type).tobytes() for name, _ in program.model.inputs
        )
        raw = dict(zip(program.model.results, _on_cpu(program.model, inputs), strict=True))
        return {
            name: numbers(np.frombuffer(raw[name], np.uint8), program.output(name).type)
            for name in program.outputs
        }
    returned = _call(program, "expected", before, dict(program.parameters))
    return {name: _array(program, "expected", returned, name) for name in program.outputs}


@functools.lru_cache(maxsize=8)
def _on_cpu(model: Model, inputs: tuple[bytes, ...]) -> tuple[bytes, ...]:
    shapes = (shape for _, shape in model.inputs)
    given = tuple(zip(shapes, inputs, strict=True))
    return computed_on_cpu(model.source, model.function, given, len(model.results))


def made_contents(program: OwnProgram, only: Collection[str] | None = None) -> Mapping[str, Array]:
    """Contents that the reference makes, by buffer; a function among them is called.

    Args:
        only: names of the buffers, if not all of them are wanted.

    Raises:
        ConfigError: as :func:`expected_outputs`.
    """
    names = [
        buffer.name
        for buffer in program.buffers
        if buffer.fill.kind == "reference" and (only is None or buffer.name in only)
    ]
    if not names:
        return {}
    returned = _call(program, "contents", dict(program.parameters))
    return {name: _array(program, "contents", returned, name) for name in names}


def _call(program: OwnProgram, name: str, *arguments: Any) -> Any:
    assert program.reference is not None
    function = _functions(program.reference).get(name)
    if not callable(function):
        raise ConfigError(
            f"the reference has no function {name}",
            file=program.reference,
            remedy="see docs/own-kernels.md for the two functions of a reference",
        )
    return _called(program, name, function, *arguments)


def _called(program: OwnProgram, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        raise ConfigError(
            f"{name}() of the reference fails: {type(error).__name__}: {error}", file=program.reference
        ) from error


@functools.lru_cache(maxsize=64)
def _functions(path: Path) -> Mapping[str, Any]:
    try:
        return runpy.run_path(str(path), run_name="apuflow_reference")
    except Exception as error:
        raise ConfigError(
            f"the reference cannot be loaded: {type(error).__name__}: {error}", file=path
        ) from error


def _array(program: OwnProgram, function: str, returned: Any, name: str) -> Array:
    """What was returned for a buffer, as an array of its type and length."""
    output = program.output(name)
    if not isinstance(returned, Mapping) or name not in returned:
        raise ConfigError(f"{function}() returns nothing for {name}", file=program.reference)
    given = returned[name]
    array = np.asarray(_called(program, function, given) if callable(given) else given).ravel()
    if array.size != output.elements:
        raise ConfigError(
            f"{function}() returns {array.size} elements for {name}, which has {output.elements}",
            file=program.reference,
        )
    return rounded(array, output.type)
