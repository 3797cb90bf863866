"""Matrix products as rocBLAS runs them: which of its kernels, with which arguments, on which grid.

rocBLAS rocm-4.0.0 is what gem5's gcn-gpu image builds; its single precision products come from Tensile. For
gfx803 it has tuned assembly kernels. gem5's APU, gfx801, has the same instructions: there the same kernels
are assembled for gfx801, though rocBLAS itself has none for it.
"""

from apuflow.rocblas.call import library_launches, library_of, library_versions
from apuflow.rocblas.selection import Choice, select
from apuflow.rocblas.tables import GPUS, Products, Solution, solution_of

__all__ = [
    "GPUS",
    "Choice",
    "Products",
    "Solution",
    "library_launches",
    "library_of",
    "library_versions",
    "select",
    "solution_of",
]
