"""Rule suite_items: one suite item by item, from the table of operations."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.study.suites import write_items

with rule(snakemake):
    wildcards, output = snakemake.wildcards, snakemake.output
    files = (output.each, output.times, output.summary)
    write_items(Campaign(), wildcards.under, wildcards.suite, snakemake.input.table, files)
