"""Configuration files as typed, checked values: sweeps, workloads, machines, gem5 releases, the site."""

from apuflow.configure.loading import (
    load_machine,
    load_release,
    load_sweep,
    machine_names,
    release_names,
    sweep_names,
    workload_names,
)
from apuflow.configure.machine import Machine
from apuflow.configure.release import Release
from apuflow.configure.site import Site, load_site
from apuflow.configure.sweep import Limits, Sweep, Variation
from apuflow.configure.workload import Runs, Workload
from apuflow.configure.workloads import load_workload

__all__ = [
    "Limits",
    "Machine",
    "Release",
    "Runs",
    "Site",
    "Sweep",
    "Variation",
    "Workload",
    "load_machine",
    "load_release",
    "load_site",
    "load_sweep",
    "load_workload",
    "machine_names",
    "release_names",
    "sweep_names",
    "workload_names",
]
