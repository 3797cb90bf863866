"""Operations beyond DNNMark's primitives, for engines gem5-kernels and preview: kinds, shapes, launches."""

from apuflow.operations.operation import Cost, Layers, Operation
from apuflow.operations.registry import KINDS, make, parse

__all__ = ["KINDS", "Cost", "Layers", "Operation", "make", "parse"]
