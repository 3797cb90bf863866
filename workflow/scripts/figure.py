"""Rule figure: one figure of a sweep, from its tables."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.study.results import write_figure

with rule(snakemake) as (output, log):
    wildcards, tables = snakemake.wildcards, snakemake.input.tables
    write_figure(Campaign(), wildcards.under, wildcards.figure, tables, output.with_suffix(""))
