"""Rule report: one self-contained page for a sweep."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.results.write import write_report

with rule(snakemake) as (output, log):
    inputs = snakemake.input
    write_report(Campaign(), snakemake.wildcards.under, inputs.tables, inputs.figures, output, inputs.sampled)
