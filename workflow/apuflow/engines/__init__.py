"""The engines: gem5, gem5-kernels and preview."""
