"""The job of one run."""

from __future__ import annotations

import subprocess
import sys


def test_a_job_loads_nothing_that_its_run_has_no_use_for() -> None:
    """Each run starts Python anew: clients of container engines and tables would double its time."""
    code = (
        "import sys; import apuflow.campaign.campaign, apuflow.campaign.script;"
        "import apuflow.engines.run_point, apuflow.engines.gem5, apuflow.engines.gem5_kernels;"
        "print(*{'numpy', 'pandas', 'docker', 'matplotlib', 'typer', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
