"""Rule mmap: the data file (a script mmap.py would hide Python's module of that name)."""

from apuflow.campaign.script import rule
from apuflow.prepare.data_file import write_mmap

with rule(snakemake) as (output, log):
    write_mmap(output, int(snakemake.wildcards.bytes))
