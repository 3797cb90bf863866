"""Dispatch the kernels of a layer on gem5 without the ROCm runtime: program, lists, references."""
