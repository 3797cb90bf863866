"""Programs for GPUs, run with apuflow in the GPU's place: their launches become workloads."""
