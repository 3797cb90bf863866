"""Rule mmap: the data file."""

from pathlib import Path

from apuflow import mmapfile
from apuflow.steps import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    mmapfile.write_mmap(Path(smk.output[0]), int(smk.wildcards.bytes))
