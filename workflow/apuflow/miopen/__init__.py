"""MIOpen's kernels for DNNMark layers: launches, kernel objects, databases."""

from apuflow.miopen.derive import distinct, launches, network_rows
from apuflow.miopen.launch import Arg, Gemm, Launch, Row, expand

__all__ = ["Arg", "Gemm", "Launch", "Row", "distinct", "expand", "launches", "network_rows"]
