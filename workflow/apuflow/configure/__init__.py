"""Configuration files as typed, checked values: sweeps, workloads, machines, gem5 releases, the site."""

from apuflow.configure.loading import load_machine as load_machine
from apuflow.configure.loading import load_release as load_release
from apuflow.configure.loading import load_sweep as load_sweep
from apuflow.configure.loading import machine_names as machine_names
from apuflow.configure.loading import release_names as release_names
from apuflow.configure.loading import sweep_names as sweep_names
from apuflow.configure.loading import workload_names as workload_names
from apuflow.configure.release import Release as Release
from apuflow.configure.site import Site as Site
from apuflow.configure.site import load_site as load_site
from apuflow.configure.sweep import Limits as Limits
from apuflow.configure.sweep import Machine as Machine
from apuflow.configure.sweep import Sweep as Sweep
from apuflow.configure.sweep import Variation as Variation
from apuflow.configure.workload import Runs as Runs
from apuflow.configure.workload import Workload as Workload
from apuflow.configure.workloads import load_workload as load_workload
