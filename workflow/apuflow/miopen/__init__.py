"""MIOpen's kernels for DNNMark layers: what is launched, which objects that takes, where they are kept."""

from apuflow.miopen.derive import distinct, kernel_rows, launches, network_rows
from apuflow.miopen.launch import Arg, Gemm, Launch, Row, expand

__all__ = ["Arg", "Gemm", "Launch", "Row", "distinct", "expand", "kernel_rows", "launches", "network_rows"]
