"""Rule sampled: a sample of a sweep's suites, from finished runs."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.study.sample_rounds import write_sample

with rule(snakemake):
    output = snakemake.output
    write_sample(Campaign(), snakemake.wildcards.under, output.members, output.totals)
