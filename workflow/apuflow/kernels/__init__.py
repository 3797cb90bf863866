"""Kernels of the user's own: from a file that describes them to a proven run, without ROCm."""
