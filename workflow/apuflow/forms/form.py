"""A form of an instruction."""

from __future__ import annotations

from typing import NamedTuple

from apuflow.interpret.opcodes import Encoding


class Form(NamedTuple):
    """One way to use an instruction.

    Attributes:
        encoding, instruction: as the interpreter's table of opcodes names them.
        features: what it has beyond registers alone, in alphabetical order; the words stand in
            :mod:`apuflow.forms.features`.
    """

    encoding: Encoding
    instruction: str
    features: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.encoding, self.instruction, *self.features))
