"""Rules suite_items and suites_of_SWEEP: suites item by item, from the table of operations."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.results.suites import write_items

with rule(snakemake):
    params = snakemake.params
    write_items(Campaign(), params.under, params.suites, snakemake.input.table)
