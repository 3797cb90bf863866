"""Rule gemm_assembly: one of rocBLAS' kernels, as Tensile writes it."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import ObjectOrder

with rule(snakemake) as (output, log):
    stages.write_gemm(ObjectOrder(**snakemake.params.order), output, log)
