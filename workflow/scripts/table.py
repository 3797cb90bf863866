"""Rules table and tables_of_SWEEP: run records and statistics to tidy tables."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.results.write import write_tables

with rule(snakemake):
    params, late = snakemake.params, bool(snakemake.input.get("batches"))
    write_tables(Campaign(), params.under, params.names, snakemake.threads, late=late)
