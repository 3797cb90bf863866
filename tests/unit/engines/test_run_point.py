"""What starting costs: the job of one run, and the workflow itself."""

from __future__ import annotations

import subprocess
import sys

from places import ROOT


def test_a_job_loads_nothing_that_its_run_has_no_use_for() -> None:
    """Each run starts Python anew: clients of container engines and tables would double its time.

    NumPy reads its statistics.
    """
    code = (
        "import sys; import apuflow.plan.campaign, apuflow.plan.script;"
        "import apuflow.plan.job, apuflow.engines.gem5;"
        "print(*{'pandas', 'docker', 'matplotlib', 'typer', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_reading_the_rules_loads_nothing_that_they_have_no_use_for() -> None:
    """Every call of Snakemake reads them, and so does every job on a cluster."""
    rules = (ROOT / "workflow/Snakefile").read_text().splitlines()
    imports = [line for line in rules if line.startswith("from apuflow")]
    assert imports
    heavy = "print(*{'pandas', 'scipy', 'docker', 'matplotlib', 'typer', 'jinja2'} & set(sys.modules))"
    code = "\n".join(["import sys", *imports, heavy])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
