"""Rule sampled: a sample of a sweep's suites, from finished runs."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.sampling.rounds import write_sample

with rule(snakemake):
    output = snakemake.output
    write_sample(Campaign(), snakemake.wildcards.under, output.members, output.totals)
