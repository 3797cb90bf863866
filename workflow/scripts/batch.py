"""Rule batch: short points, one after the other."""

from apuflow.campaign.run_batch import run_batch
from apuflow.campaign.script import rule

with rule(snakemake) as (output, log):
    run_batch(snakemake.wildcards.batch, output)
