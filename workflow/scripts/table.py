"""Rule table: run records and statistics to one tidy table."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.study.results import write_table

with rule(snakemake):
    wildcards, output = snakemake.wildcards, snakemake.output
    files = (output.csv, output.parquet, output.columns)
    write_table(Campaign(), wildcards.under, wildcards.workload, files, late=bool(snakemake.input.batches))
