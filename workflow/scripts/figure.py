"""Rule figure: one figure of a sweep, from its tables."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.study.results import write_figure

with rule(snakemake) as (output, log):
    asked = snakemake.wildcards
    write_figure(Campaign(), asked.under, asked.figure, snakemake.input.tables, output.with_suffix(""))
