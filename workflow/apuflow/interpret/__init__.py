"""Executes machine code of AMD's GPUs (GCN3 to CDNA3) with NumPy, many wavefronts at once."""
