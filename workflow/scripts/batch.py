"""Rule batch: short points, one after the other."""

from apuflow.plan.job import run_batch
from apuflow.plan.script import rule

with rule(snakemake) as (output, log):
    run_batch(snakemake.input.plan[0], snakemake.wildcards.batch, output)
