"""Rules figure and figures_of_SWEEP: figures of a sweep, from its tables."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.results.write import write_figures

with rule(snakemake) as (output, log):
    params = snakemake.params
    tables, processes = snakemake.input.tables, snakemake.threads
    write_figures(Campaign(), params.under, params.names, tables, output.parent, processes)
