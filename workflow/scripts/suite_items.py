"""Rules suite_items and suites_of_SWEEP: suites item by item, from the table of operations."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.study.suites import write_items

with rule(snakemake):
    params = snakemake.params
    write_items(Campaign(), params.under, params.suites, snakemake.input.table)
