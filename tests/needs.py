"""What tests need beyond Python, make and git. The one place that knows which Debian packages have it.

``python3 tests/needs.py packages`` lists all packages; ``... programs`` those programs that this machine has;
``... anywhere`` the tests whose outcome no program changes.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Need:
    """Something that a test cannot do without.

    Args:
        what: what is missing, after "no".
        untested: what nobody has tested when it is missing.
        packages: the Debian packages that bring it.
        programs: the names under which it is looked for on the PATH, the best one first.
        otherwise: how to get it, where a package is not enough or does not exist.
    """

    what: str
    untested: str
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    otherwise: str = ""

    @property
    def reason(self) -> str:
        """Why a test is skipped."""
        return f"no {self.what}"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        install = f"apt-get install {' '.join(self.packages)}" if self.packages else ""
        return ", ".join(filter(None, (install, self.otherwise)))

    def program(self) -> str | None:
        """Path of the first of its programs that is installed."""
        return next((path for name in self.programs if (path := shutil.which(name))), None)

    def skip(self) -> NoReturn:
        """Skip the running test: this is not here."""
        import pytest

        pytest.skip(self.reason)

    def required_program(self) -> str:
        """Path of its program; the running test is skipped where there is none."""
        return self.program() or self.skip()


C_COMPILER = Need(
    "C compiler",
    "the program that starts kernels for the engine gem5-kernels",
    ("gcc", "libc6-dev"),
    ("gcc", "cc"),
)
CLANG = Need(
    "clang with an AMDGPU target",
    "compiling GPU kernels, and finding instructions that gem5 executes wrongly",
    ("clang-15", "lld-15", "llvm-15", "rocm-device-libs"),
    ("clang-15", "clang"),
)
LATER_CLANG = Need(
    "clang 19",
    "compiling and assembling for gfx942",
    ("clang-19", "lld-19", "llvm-19"),
    ("clang-19",),
)
OPENCL = Need("headers of OpenCL", "recording OpenCL programs", ("ocl-icd-opencl-dev",))
ROCM = Need("headers of ROCm's runtime", "recording programs under ROCm", ("libhsa-runtime-dev",))
HIP = Need("C++ compiler", "HIP programs: their host code", ("g++",), ("g++",))
DOCKER = Need(
    "Docker daemon",
    "builds and runs in containers",
    ("docker.io", "debootstrap", "xz-utils"),
    ("dockerd",),
    "and run the tests as root, or start the daemon",
)
REGISTRY = Need(
    "registry of images",
    "images from a registry: names that are gone, digests, the lock",
    ("docker-registry", "apache2-utils"),
    ("docker-registry",),
)
PODMAN = Need(
    "Podman", "images that Podman pulls", ("podman", "runc"), ("podman",), "and run the tests as root"
)
BROWSER = Need(
    "browser",
    "the report as a browser shows it",
    ("chromium",),
    ("chromium", "google-chrome"),
    "or name one in APUFLOW_TEST_BROWSER",
)
SLURM = Need(
    "Slurm",
    "batches and faults on a cluster",
    ("slurm-wlm", "munge"),
    ("slurmctld",),
    "and run the tests as root",
)
MOUNT = Need("right to mount a file system", "full and read-only disks", otherwise="run the tests as root")
GEM5 = Need("gem5", "everything on a real gem5", otherwise="name gem5.opt in APUFLOW_TEST_GEM5")
OTHER_GEM5 = Need(
    "second gem5",
    "whether another build of gem5 writes the same statistics",
    otherwise="name another build of the same sources in APUFLOW_TEST_OTHER_GEM5",
)
MIOPEN = Need(
    "sources of MIOpen",
    "MIOpen's kernels on a real gem5",
    otherwise="name its src/kernels in APUFLOW_TEST_MIOPEN",
)
ROCBLAS = Need(
    "sources of rocBLAS and Tensile",
    "rocBLAS' own kernels: writing, assembling and running them",
    otherwise="name checkouts at rocm-4.0.0 in APUFLOW_TEST_ROCBLAS and APUFLOW_TEST_TENSILE",
)
NETWORKS = Need("PyTorch and ONNX", "networks read from them", otherwise=".venv/bin/pip install torch onnx")
TRITON = Need("Triton", "Triton kernels", otherwise=".venv/bin/pip install triton==3.9.0")
IREE = Need(
    "IREE",
    "models as a source of kernels",
    otherwise=".venv/bin/pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0",
)
ROC_VALIDATOR = Need(
    "validator of RO-Crates",
    "archives as Workflow Run RO-Crates, by the validator of the profiles' authors",
    (),
    ("rocrate-validator",),
    "python3 -m venv DIR && DIR/bin/pip install roc-validator (it needs an older rich), DIR/bin on the PATH",
)
NEEDS = (
    *(
        C_COMPILER,
        CLANG,
        LATER_CLANG,
        OPENCL,
        ROCM,
        HIP,
        DOCKER,
        REGISTRY,
        PODMAN,
        BROWSER,
        SLURM,
        MOUNT,
        NETWORKS,
        TRITON,
        IREE,
        ROC_VALIDATOR,
    ),
    *(GEM5, OTHER_GEM5, MIOPEN, ROCBLAS),
)

ANYWHERE = (
    # They reckon, and read and write files, in Python alone.
    *(f"unit/analysis/{room}" for room in ("counters", "figures", "metrics", "report", "tables")),
    *(
        f"unit/{room}"
        for room in ("configure", "dnnmark", "gem5", "preflight", "preview", "results", "sampling")
    ),
    *("unit/statsnet", "unit/suites"),
    *(f"unit/plan/test_{name}.py" for name in ("members", "runs")),
    *(f"unit/commands/test_{name}.py" for name in ("score", "stats")),
    *(f"unit/run/test_{name}.py" for name in ("guest_errors", "outcome", "proof")),
    *(f"unit/score/test_{name}.py" for name in ("errors", "measured_page", "recorded_errors", "runs")),
    *(f"unit/test_{name}.py" for name in ("frozen", "fuzz_inputs", "kubernetes_docs")),
    # Their tools are Python packages.
    "unit/kernels/test_triton_library.py",
    "test_style.py",
    "integration/test_docs_site.py",
    # integration/test_installed.py runs the first tutorial, and a clone, with no other program.
    *(f"integration/test_{name}.py" for name in ("profiles", "tutorials", "workflow_preview")),
    # They disturb the project whose quiet path is integration/test_workflow_gem5.py, with no other program.
    "faults",
    "integration/test_archive_workflow.py",
    "integration/test_other_machines.py",
    "integration/test_disk_full.py",
    "integration/test_reruns.py",
)
"""Below ``tests/``: what need not run again on a machine without the programs above. New tests run there."""


def packages() -> list[str]:
    """Debian packages with which nothing but the tests on gem5 is skipped."""
    return [package for need in NEEDS for package in need.packages]


def summary(reasons: Iterable[str]) -> Iterator[str]:
    """What was not tested, a line for each need, from the reasons of all skipped tests."""
    counts = Counter(reasons)
    missing = [need for need in NEEDS if counts[need.reason]]
    if missing:
        yield "Not tested on this machine:"
    for need in missing:
        yield f"  {need.untested} ({counts[need.reason]} tests: {need.reason}). To test it: {need.remedy}"
    if install := " ".join(package for need in missing for package in need.packages):
        yield f"All of it, as root: apt-get install {install}"


if __name__ == "__main__":
    what: dict[str, Callable[[], Iterable[str]]] = {
        "packages": packages,
        "anywhere": lambda: ANYWHERE,
        "programs": lambda: [name for need in NEEDS for name in need.programs if shutil.which(name)],
    }
    print(*what[sys.argv[1]]())
