"""Rule launcher: the guest program of engine gem5-kernels."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.launcher import build_launcher

with logged(snakemake.log[0]):  # noqa: F821
    build_launcher("cc", Path(snakemake.output[0]))  # noqa: F821
