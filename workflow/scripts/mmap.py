"""Rule mmap: the data file."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.prepare import data_file

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    data_file.write_mmap(Path(smk.output[0]), int(smk.wildcards.bytes))
