"""Rule product_table: the table that the image's rocBLAS finds changed kernels in."""

from apuflow.plan.script import rule
from apuflow.prepare import stages

with rule(snakemake) as (output, log):
    stages.write_product_table(**snakemake.params.order, out=output, log=log)
