"""Rule suite_items: a suite item by item, from the table of operations."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.results.suites import write_items

with rule(snakemake):
    wildcards = snakemake.wildcards
    write_items(Campaign(), wildcards.under, [wildcards.suite], snakemake.input.table)
