"""Rule table: run records and statistics to a tidy table."""

from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.results.suites import write_suite_table
from apuflow.results.write import write_table

with rule(snakemake) as (output, log):
    wildcards, given, files = snakemake.wildcards, snakemake.input, list(snakemake.output)
    if plan := given.get("plan"):
        write_table(plan[0], files, sampled=given.get("sampled", []), late=bool(given.get("batches")))
    else:
        write_suite_table(Campaign(), wildcards.under, wildcards.workload, given.records[0], files)
