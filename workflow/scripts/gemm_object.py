"""Rule gemm_object: one of rocBLAS' kernels, assembled."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import ObjectOrder

with rule(snakemake) as (output, log):
    stages.assemble_gemm(ObjectOrder(**snakemake.params.order), output)
