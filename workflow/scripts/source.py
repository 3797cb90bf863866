"""Rule source: a repository at the release's commit."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.source(Toolset(smk.wildcards.release), smk.wildcards.repository, Path(smk.output[0]))
