"""Rule source: a repository at the release's commit."""

from pathlib import Path

from apuflow import stages
from apuflow.steps import logged
from apuflow.toolset import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.source(Toolset(smk.wildcards.release), smk.wildcards.repository, Path(smk.output[0]))
