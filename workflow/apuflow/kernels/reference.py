"""What the kernels should have computed, by the user's own Python file, against what they left.

The file has a function ``expected(buffers, parameters)``: NumPy arrays by buffer before the first launch in,
arrays by buffer after the last launch out, those of ``outputs``. A buffer with ``contents: reference`` starts
with what ``contents(parameters)`` of the file returns for it.
"""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import ConfigError
from apuflow.core.record import Results
from apuflow.kernels.element_types import ELEMENT_BYTES, NUMPY_TYPES, ElementType, numbers, rounded
from apuflow.kernels.program import OwnBuffer, OwnProgram, initial_value
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
        if program.reference is None:
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
            buffer = program.buffer(name)
            try:
                raw = np.fromfile(directory / file, np.uint8, buffer.elements * ELEMENT_BYTES[buffer.type])
            except OSError as error:
                return Results(note=self.explained(f"an output is missing: {error}"))
            errors[name] = difference(numbers(raw, buffer.type), wanted[name])
            allowed[name] = tolerance(program, buffer)
        files = dict(zip(program.outputs, (directory / file for file in self.files), strict=True))
        return judged(errors, allowed, files, "its reference", self.explained)

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return self.known.explained(text, self.objects)


def tolerance(program: OwnProgram, buffer: OwnBuffer) -> float:
    """Largest difference of a buffer, relative to its largest element, that counts as equal."""
    if program.tolerance is not None:
        return program.tolerance
    if np.dtype(NUMPY_TYPES[buffer.type]).kind != "f":
        return 0.0
    return _TOLERANCES.get(buffer.type, TOLERANCE)


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
    returned = _call(program, "expected", before, dict(program.parameters))
    return {name: _array(program, "expected", returned, name) for name in program.outputs}


def made_contents(program: OwnProgram) -> Mapping[str, Array]:
    """Contents that the reference makes, by buffer.

    Raises:
        ConfigError: as :func:`expected_outputs`.
    """
    names = [buffer.name for buffer in program.buffers if buffer.fill.kind == "reference"]
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
    called: Callable[..., Any] = function
    try:
        return called(*arguments)
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
    buffer = program.buffer(name)
    if not isinstance(returned, Mapping) or name not in returned:
        raise ConfigError(f"{function}() returns nothing for {name}", file=program.reference)
    array = np.asarray(returned[name]).ravel()
    if array.size != buffer.elements:
        raise ConfigError(
            f"{function}() returns {array.size} elements for {name}, which has {buffer.elements}",
            file=program.reference,
        )
    return rounded(array, buffer.type)
