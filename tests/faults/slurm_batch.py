"""What a cluster's job does, without the two starts of Snakemake around it: plan batches, or run one.

``plan SWEEP`` writes the plan and prints the batches' names; ``run NAME`` runs a batch. In the project's
directory.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from apuflow.core import paths
from apuflow.core.errors import DescribedError
from apuflow.plan.campaign import Campaign
from apuflow.plan.job import run_batch
from apuflow.plan.runs import Runs

what, name = sys.argv[1:]
if what == "plan":
    checkpoints = SimpleNamespace(image=SimpleNamespace(get=lambda **wildcards: None))
    inputs = Runs(Campaign(), lambda: True)
    wildcards = {"under": paths.under(name), "workload": "softmax_fwd"}
    print(*(Path(mark).stem for mark in inputs.table_inputs(wildcards, checkpoints)["batches"]))
else:
    try:
        [plan] = Runs(Campaign(), is_job=True).job_inputs({"batch": name})["plan"]
        run_batch(plan, name, Path(paths.batch(name)))
    except DescribedError as error:
        sys.exit(str(error))
