"""Rule batch: points of seconds, one after the other."""

from apuflow.plan.run_batch import run_batch
from apuflow.plan.script import rule

with rule(snakemake) as (output, log):
    run_batch(snakemake.wildcards.batch, output)
