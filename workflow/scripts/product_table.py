"""Rule product_table: the table of changed kernels for the image's rocBLAS."""

from apuflow.campaign.script import rule
from apuflow.prepare import stages

with rule(snakemake) as (output, log):
    stages.write_product_table(**snakemake.params.order, out=output, log=log)
