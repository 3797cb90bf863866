"""Rule kernel_database: a database from its objects."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.miopen.database import build_database

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    keys = [tuple(key) for key in smk.params.plan]
    build_database(Path(smk.output[0]), dict(zip(keys, map(Path, smk.input), strict=True)))
