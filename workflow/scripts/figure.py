"""Rule figure: a figure of a sweep, from its tables."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.results.write import write_figure

with rule(snakemake) as (output, log):
    wildcards = snakemake.wildcards
    write_figure(Campaign(), wildcards.under, wildcards.figure, snakemake.input.tables, output.parent)
