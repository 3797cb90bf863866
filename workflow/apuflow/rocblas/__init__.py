"""Matrix products as rocBLAS runs them: which of its kernels, with which arguments, on which grid.

gem5's gcn-gpu image builds rocBLAS rocm-4.0.0. Its single precision products come from Tensile, which has
tuned assembly kernels for gfx803. gem5's APU, gfx801, has the same instructions, so apuflow assembles these
kernels for gfx801, for which rocBLAS has none.
"""
