"""Engine gem5 with ``image.rocblas_kernels: changed``: what the rocBLAS of the image is given."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from host_tools import GEM5
from sweep_texts import one

from apuflow.configure.point import Point
from apuflow.engines import dnnmark_program, simulating_engine
from apuflow.engines.base import Inputs
from apuflow.miopen.compiler import Compiler
from apuflow.prepare.builds import existing_dnnmark
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.records import write_record
from apuflow.prepare.tools import Toolset

ENGINE = simulating_engine("gem5")


def point(
    root: Path,
    workload: str,
    kernels: str,
    release: str = "v23.0",
    machine: str = "apu-gfx801",
    extra: str = "",
) -> Point:
    """Of a site whose image is there and brings these kernels."""
    image = f"{{mode: local, name: rocm, digest: 'sha256:{'2' * 64}', rocblas_kernels: {kernels}}}"
    (root / "configs/site.yaml").write_text(f"image: {image}\n")
    head = f"description: x\nengines: [gem5]\nrelease: {release}\nmachine: {machine}\n"
    return one(root, f"{head}workloads: [{workload}]\n{extra}", workload)


def toolset(root: Path) -> Toolset:
    tools = Toolset("v23.0", root)
    digest = f"sha256:{'2' * 64}"
    tools.__dict__["image"] = ImageRecord(
        engine="docker", kind="recipe", name="rocm", reference="rocm", digest=digest
    )
    return tools


@pytest.mark.parametrize("workload", ["fc_fwd", "conv_bwd"])
def test_a_product_with_changed_kernels_is_another_point(root: Path, workload: str) -> None:
    own, changed = (point(root, workload, kernels) for kernels in ("own", "changed"))
    assert own.id != changed.id
    assert {launch.changed for launch in dnnmark_program.kernel_launches(own)} == {None}
    words = [launch.changed for launch in dnnmark_program.kernel_launches(changed) if launch.library]
    assert words and all("no priorities" in str(one) for one in words if one)


@pytest.mark.parametrize("workload", ["softmax_fwd", "lrn_bwd"])
def test_a_layer_without_products_stays_the_same_point(root: Path, clang: Compiler, workload: str) -> None:
    assert point(root, workload, "own").id == point(root, workload, "changed").id
    assert ENGINE.needs(toolset(root), point(root, workload, "changed")).library is None


def test_a_gpu_that_the_kernels_are_not_for_keeps_the_images_own(root: Path) -> None:
    own, changed = (point(root, "fc_fwd", kernels, "v24.0", "apu-gfx902") for kernels in ("own", "changed"))
    assert own.id == changed.id


def test_a_product_needs_a_table_and_an_object_for_each_kernel(root: Path, clang: Compiler) -> None:
    """A convolution's product shares its sum between workgroups: C is cleared by a kernel of its own."""
    layer = "per_workload: {conv_fwd: {layer: {n: 1, c: 3, h: 16, w: 16, num_output: 16}}}\n"
    needs = ENGINE.needs(toolset(root), point(root, "conv_fwd", "changed", extra=layer))
    assert needs.library is not None
    programs = [item.row.program for item in needs.library.objects]
    assert sum(program.startswith("Cijk_A") for program in programs) == 1
    assert "rocblas_scale.cl" in programs
    inputs = needs.inputs()
    assert inputs.database and needs.library.table in inputs.files
    objects = [file for file in inputs.files if file.endswith(".o")]
    assert len(objects) == 2  # MIOpen's own kernels are in its database


def test_the_program_finds_them_in_its_directory(
    root: Path, clang: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dnnmark_program, "refuse_redirected", lambda _directory: None)
    build = root / "dnnmark/build"
    (build / "benchmarks/test_fwd_fc").mkdir(parents=True)
    (build / "benchmarks/test_fwd_fc/dnnmark_test_fwd_fc").write_text("a program")
    (build / "libdnnmark.so").write_text("a library")
    layer = "per_workload: {fc_fwd: {layer: {n: 8, c: 64, num_output: 48}}}\n"
    run, tools = point(root, "fc_fwd", "changed", extra=layer), toolset(root)
    write_record(root / tools.record("dnnmark"), existing_dnnmark(build))
    needs = ENGINE.needs(tools, run)
    assert needs.library is not None and needs.data is not None
    (root / needs.data).parent.mkdir(parents=True)
    (root / needs.data).write_bytes(bytes(16384))
    (item,) = needs.library.objects
    for file in needs.library.files(root).values():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"made")
    (root / "launcher").write_bytes(b"a launcher")
    prepared = ENGINE.prepare(
        tools, run, Inputs("gem5.json", None, needs.data, "launcher"), GEM5, root / "runs/point"
    )
    assert prepared.process.guest.environment == {"ROCBLAS_TENSILE_LIBPATH": "rocblas"}
    assert dict(prepared.process.copies) == {
        "rocblas/TensileLibrary.dat": root / needs.library.table,
        f"rocblas/{item.name}-gfx801.co": item.path(root),  # rocBLAS loads what matches *gfx801*co
    }
    assert prepared.launches[-1].library == "rocBLAS of the image"
    (note,) = prepared.provenance.notes
    assert f"TensileLibrary.dat ({hashlib.sha256(b'made').hexdigest()[:16]})" in note and item.name in note
