"""The software of a point: what runs its workload, less what has no part in its work."""

from __future__ import annotations

from dataclasses import replace

from apuflow.configure.work import Software, Work, corrections_of, launches_products
from apuflow.configure.workload import Workload


def of_work(software: Software, workload: Workload, work: Work) -> Software:
    """The software of one piece of work.

    Args:
        software: of the workload on this GPU (``Engine.software``).
    """
    if software.products is not None and not launches_products(work):
        software = replace(software, products=None)
    if software.corrections is not None and workload.derives_kernels:
        software = replace(software, corrections=corrections_of(work))
    return software
