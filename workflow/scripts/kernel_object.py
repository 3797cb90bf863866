"""Rule kernel_object: one compiled kernel."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import ObjectOrder

with rule(snakemake) as (output, log):
    stages.compile_kernel(ObjectOrder(**snakemake.params.order), output)
