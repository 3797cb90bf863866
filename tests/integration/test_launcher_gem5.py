"""The launcher on a real gem5: APUFLOW_TEST_GEM5=.../build/GCN3_X86/gem5.opt (or VEGA_X86), in its sources.

MIOpen's kernels are run where APUFLOW_TEST_MIOPEN names its src/kernels; else only the stand-in for rocBLAS.
What gem5 executes wrongly is expected to fail, each with its cause: a gem5 that does it right fails the test.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import needs
import numpy as np
import pytest
import real_gem5
from kernel_builds import compiled
from operation_shapes import CASES as SHAPES
from places import ROOT
from real_gem5 import APU, DISCRETE, TARGET
from rocblas_checkouts import checkouts

from apuflow import operations
from apuflow.configure import option_rules
from apuflow.containers.found import container_engine
from apuflow.core.gpus import GPUS
from apuflow.core.record import RunRecord
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import parse
from apuflow.engines.derived_kernels import kernel_run
from apuflow.engines.fewer_workgroups import Fewer
from apuflow.engines.simulated import statistics_of
from apuflow.launcher.program import build_launcher
from apuflow.launcher.reference import TOLERANCE
from apuflow.miopen import Launch, launches
from apuflow.miopen.launch import Arg, Gemm
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.prepare.data_file import write_mmap
from apuflow.rocblas.call import library_launches
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5
from apuflow.run.process import PointFacts, Simulation
from apuflow_analysis.tables.kernels import kernel_table
from apuflow_analysis.tables.records import Row, read_record

pytestmark = pytest.mark.gem5

RELEASE = real_gem5.release()
MISTAKES = RELEASE.instruction_defects(APU)
"""What its file says that this gem5 executes wrongly: each is expected, and nothing else."""
Direction = Literal["fwd", "bwd"]


@pytest.fixture
def gem5() -> Gem5:
    return real_gem5.gem5(RELEASE)


@pytest.fixture
def visible() -> Iterator[Path]:
    """A directory that a guest can see: not below /tmp."""
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    yield directory
    shutil.rmtree(directory)


def layer(kind: str, shape: tuple[int, int, int, int], **keys: object) -> str:
    """A DNNMark text of one layer."""
    n, c, h, w = shape
    rest = "".join(f"{key}={value}\n" for key, value in keys.items())
    head = "[DNNMark]\nrun_mode=standalone\n\n"
    return f"{head}[{kind}]\nname=layer\nn={n}\nc={c}\nh={h}\nw={w}\nprevious_layer=null\n{rest}"


NORM = {"epsilon": 1e-5, "exp_avg_factor": 0.5}
CONV = {"conv_mode": "cross_correlation"}
LRN = {"local_size": 5, "alpha": 0.001, "beta": 0.75, "k": 1}
CASES: Mapping[str, str] = {
    "softmax": layer("Softmax", (12, 300, 1, 1)),
    "softmax_spatial": layer("Softmax", (2, 40, 3, 3)),
    "relu": layer("Activation", (2, 4, 12, 16), activation_mode="relu"),
    "sigmoid": layer("Activation", (2, 4, 12, 16), activation_mode="sigmoid"),
    "tanh": layer("Activation", (2, 4, 12, 16), activation_mode="tanh"),
    "soft_relu": layer("Activation", (2, 4, 12, 16), activation_mode="soft_relu"),
    "bypass": layer("Bypass", (10, 50, 1, 1)),
    "pool_max": layer("Pooling", (2, 4, 13, 13), pool_mode="max", kernel_size=3, pad=0, stride=2),
    "pool_to_the_end_of_a_page": layer(
        "Pooling", (3, 17, 13, 13), pool_mode="max", kernel_size=5, pad=2, stride=1
    ),
    "pool_avg": layer("Pooling", (2, 4, 13, 13), pool_mode="avg", kernel_size=3, pad=1, stride=2),
    "lrn_cross": layer("LRN", (2, 8, 8, 8), lrn_mode="cross_channel_dim1", **LRN),
    "lrn_within": layer("LRN", (2, 4, 12, 12), lrn_mode="within_channel", **LRN),
    "bn": layer("BatchNorm", (8, 40, 1, 1), batchnorm_mode="per_activation", **NORM),
    "bn_spatial": layer("BatchNorm", (4, 8, 12, 12), batchnorm_mode="spatial", **NORM),
    "bn_spatial_large": layer("BatchNorm", (2, 4, 36, 36), batchnorm_mode="spatial", **NORM),
    "fc": layer("FullyConnected", (5, 70, 1, 1), num_output=33),
    "conv": layer("Convolution", (2, 3, 10, 9), num_output=4, kernel_size=3, pad=1, stride=2, **CONV),
    "conv_wide": layer("Convolution", (1, 2, 8, 40), num_output=3, kernel_size=3, pad=1, stride=1, **CONV),
    "conv_wide_and_high": layer(
        "Convolution", (1, 1, 40, 40), num_output=2, kernel_size=11, pad=2, stride=1, **CONV
    ),
    "conv_1x1": layer("Convolution", (2, 6, 9, 8), num_output=4, kernel_size=1, pad=0, stride=1, **CONV),
    "conv_1x1_stride": layer(
        "Convolution", (2, 6, 9, 8), num_output=4, kernel_size=1, pad=0, stride=2, **CONV
    ),
}
SCRATCH = layer("BatchNorm", (100, 6, 1, 1), batchnorm_mode="per_activation", **NORM)
"""Clang keeps a batch of 100 in private memory."""

ROW_SHIFTS = "gem5 moves the lanes of DPP row shifts to the wrong places (inst_util.hh)"
_DEFECTS: Mapping[str, Mapping[tuple[str, Direction], str]] = {
    "GCN3_X86": {
        ("bn_spatial", "fwd"): ROW_SHIFTS,
        ("bn_spatial", "bwd"): ROW_SHIFTS,
        ("bn_spatial_large", "fwd"): ROW_SHIFTS,
        ("bn_spatial_large", "bwd"): ROW_SHIFTS,
    },
    "VEGA_X86": {},
}
DEFECTS = _DEFECTS[TARGET]
"""Of GCN3 as in v23.0, of Vega as in v24.0."""
_WRONG: Mapping[str, tuple[str, Direction, tuple[str, str]]] = {
    "GCN3_X86": ("bn_spatial_large", "fwd", ("v_add_f32", "dppInstImpl")),
    "VEGA_X86": ("bn_spatial", "bwd", ("v_mul_u32_u24_sdwa", "sdwaSrcHelper")),
}
WRONG = _WRONG[TARGET]
"""A layer whose run ends well with wrong values, and what its flag names."""
_CRASH: Mapping[str, tuple[str, Direction, tuple[str, str]]] = {
    "GCN3_X86": ("lrn_within", "bwd", ("Assertion `NumDwords == 1' failed", "s_mov_b64")),
    "VEGA_X86": ("bn_spatial", "fwd", ("is out of range: VGPR range", "v_mul_u32_u24_sdwa")),
}
CRASH = _CRASH[TARGET]
"""A layer that ends gem5, and what the evidence names."""
SPLIT = ("convolution direct", "convolution direct groups")
"""Operations whose gradients load pairs that lie in two cache lines."""
DIRECTIONS: tuple[Direction, ...] = ("fwd", "bwd")
EVERY = [
    pytest.param(
        name,
        direction,
        id=f"{name}-{direction}",
        marks=[pytest.mark.xfail(strict=True, reason=DEFECTS[name, direction])]
        if (name, direction) in DEFECTS
        else [],
    )
    for name in CASES
    for direction in DIRECTIONS
]


def run(
    found: tuple[Launch, ...],
    gem5: Gem5,
    project: Path,
    *,
    gfx: str = APU,
    units: int = 4,
    on_failure: Literal["strict", "record"] = "strict",
    fills: int | None = None,
    as_upstream: bool = False,
    in_memory: bool = False,
    both_signs: bool = False,
) -> RunRecord:
    """One point of engine gem5-kernels, as the workflow runs it; its record is below ``project``/run.

    Args:
        as_upstream: compiled as MIOpen does, whatever gem5 executes wrongly.
        both_signs: inputs uniform in [-4, 4) in place of DNNMark's [0, 1).
    """
    kernels = Path(os.environ.get("APUFLOW_TEST_MIOPEN", "/nonexistent"))
    if not kernels.is_dir() and any(str(launch.program).startswith("MIOpen") for launch in found):
        needs.MIOPEN.skip()
    defects = RELEASE.instruction_defects(gfx)
    paths = compiled(found, gfx, kernels, project, defects=() if as_upstream else defects)
    launcher, data = project / "launcher", project / "mmap.bin"
    build_launcher("gcc", launcher)
    write_mmap(data, 1 << 21)
    if both_signs:
        floats = data.stat().st_size // 4
        np.random.default_rng(1).uniform(-4, 4, floats).astype("<f4").tofile(data)
    options: dict[str, Scalar | None] = {
        "num-cpus": 3,
        "num-compute-units": units,
        "cu-per-sa": units,
        "mem-size": "1GB",
        "gfx-version": gfx,
        "dgpu": GPUS[gfx].discrete,
    }
    planned = kernel_run(
        found,
        gfx=gfx,
        options=options,
        launcher=launcher,
        objects=paths,
        data=data,
        known=RELEASE.known(gfx),
        statistics=statistics_of(RELEASE),
        fewer=Fewer(fills, _whole_machine(units), RELEASE.facts.barrier_slots) if fills else None,
        in_memory=in_memory,
    )
    return simulate(
        Simulation(
            project=project,
            run_dir=project / "run",
            point=PointFacts(
                "gem5-kernels", "test", "fwd", "p", {}, {}, options, gfx, RELEASE.name, RELEASE.facts
            ),
            gem5=gem5,
            process=planned.process,
            container=container_engine("host"),
            image=None,
            launches=planned.launches,
            on_failure=on_failure,
        )
    )


@pytest.mark.parametrize(("name", "direction"), EVERY)
def test_kernels_compute_what_numpy_says(name: str, direction: Direction, gem5: Gem5, visible: Path) -> None:
    found = launches(parse(CASES[name]), direction, 4)
    record = run(found, gem5, visible)
    assert record.status == "completed"
    table = kernel_table(visible / "run")
    assert list(table["kernel"]) == [launch.kernel for launch in record.launches]
    assert (table["kernels_launched"] == 1).all()
    assert (table["gpu_cycles"] > 0).all()
    assert record.results is not None
    assert record.results.agree, record.results.note
    assert record.results.max_relative_error is not None
    assert record.results.max_relative_error <= TOLERANCE
    assert not list((visible / "run").rglob("out*.bin"))


SIGNED = ("relu", "sigmoid", "tanh", "soft_relu", "pool_avg")
FORWARD = ("lrn_cross", "lrn_within")
"""Backward LRN reads a scale, which is above zero."""


def _scaled(found: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """Activations by alpha = beta = 1; DNNMark gives zeros, and beta*tanh(alpha*x) is zero then."""

    def scaled(arg: Arg) -> Arg:
        return arg._replace(value=1.0) if arg.name in ("alpha", "beta") else arg

    return tuple(
        replace(launch, args=tuple(map(scaled, launch.args))) if "Active" in launch.kernel else launch
        for launch in found
    )


@pytest.mark.parametrize(
    ("name", "direction"),
    [*((name, way) for name in SIGNED for way in DIRECTIONS), *((name, "fwd") for name in FORWARD)],
)
def test_numbers_of_both_signs(name: str, direction: Direction, gem5: Gem5, visible: Path) -> None:
    found = _scaled(launches(parse(CASES[name]), direction, 4))
    record = run(found, gem5, visible, both_signs=True)
    assert record.results is not None
    assert record.results.agree, record.results.note


@pytest.mark.parametrize("name", ["gelu", "recurrent lstm", "recurrent"])
def test_operations_on_numbers_of_both_signs(name: str, gem5: Gem5, visible: Path) -> None:
    made = operations.make(name.partition(" ")[0], SHAPES[name])
    record = run(made.launches("fwd", 4), gem5, visible, both_signs=True)
    assert record.results is not None
    assert record.results.agree, record.results.note


def test_tanh_as_compiled_is_wrong_below_zero_and_its_compares_are_named(gem5: Gem5, visible: Path) -> None:
    """Where this gem5 takes |x| of a compare for x; 0.625 is where clang's tanh changes its formula."""
    found = _scaled(launches(parse(CASES["tanh"]), "fwd", 4))
    record = run(found, gem5, visible, both_signs=True, as_upstream=True)
    wrong = "ignored_signs" in MISTAKES
    assert record.results is not None
    assert record.results.agree is not wrong
    assert ("v_cmp_nlt_f32_e64: the number is taken without" in (record.results.note or "")) is wrong


@pytest.mark.parametrize("name", SHAPES)
def test_operations_of_suites_compute_what_numpy_says(name: str, gem5: Gem5, visible: Path) -> None:
    """Everything beyond DNNMark's primitives, both ways where gem5 executes both right."""
    made = operations.make(name.partition(" ")[0], SHAPES[name])
    forward_alone = len(made.directions) == 1 or name in SPLIT
    found = made.launches("fwd" if forward_alone else "both", 4)
    if made.kind == "bias":
        found = made.launches("bwd", 4)
    record = run(found, gem5, visible)
    assert record.status == "completed"
    assert record.results is not None
    assert record.results.agree, record.results.note


@pytest.mark.parametrize("name", SPLIT)
def test_pairs_in_two_cache_lines_are_named(name: str, gem5: Gem5, visible: Path) -> None:
    """The gradient of the weights reads rows of 7 and 9 elements two at a time."""
    made = operations.make(name.partition(" ")[0], SHAPES[name])
    record = run(made.launches("bwd", 4), gem5, visible)
    wrong = RELEASE.name < "v24.1"
    assert record.results is not None
    assert record.results.agree is not wrong
    named = "flat_load_dwordx2 with across_lines" in (record.results.note or "")
    assert named is wrong


def test_every_dispatch_is_counted_as_if_it_ran_alone(gem5: Gem5, visible: Path) -> None:
    """The same work; of caches that gem5 before v23.1 never resets, not what the dispatches before did."""
    text = layer("Convolution", (2, 4, 16, 16), num_output=12, kernel_size=5, pad=2, stride=1, **CONV)
    found = launches(parse(text), "fwd", 4)
    run(found, gem5, visible)
    together = kernel_table(visible / "run")
    shutil.rmtree(visible / "run")
    for number, launch in enumerate(found):
        run((replace(launch, count=1, loop=0),), gem5, visible)
        [alone] = kernel_table(visible / "run").to_dict("records")
        shutil.rmtree(visible / "run")
        one = together.iloc[number]
        for counter in ("instructions", "wavefronts", "valu_thread_cycles", "vector_memory_insts"):
            assert one[counter] == alone[counter], counter
        accesses = [row["tcp_hits"] + row["tcp_misses"] for row in (one, alone)]
        assert accesses[0] == pytest.approx(accesses[1], rel=0.05)
        for cache in ("sqc_misses", "scalar_misses"):  # code and arguments may lie on a line more or less
            assert one[cache] == pytest.approx(alone[cache], abs=2), cache


def _whole_machine(units: int) -> dict[str, Scalar]:
    return option_rules.defaults(RELEASE.options_of) | {"num-compute-units": units}


LARGE = {
    "relu": layer("Activation", (8, 32, 32, 64), activation_mode="relu"),
    "pool_max": layer("Pooling", (6, 64, 32, 32), pool_mode="max", kernel_size=3, pad=0, stride=2),
    "bn": layer("BatchNorm", (8, 1000, 1, 1), batchnorm_mode="per_activation", **NORM),
    "fc": layer("FullyConnected", (128, 128, 1, 1), num_output=1024),
}
"""Layers whose kernels have many more workgroups than four compute units hold."""
FILLS = {"GCN3_X86": 8, "VEGA_X86": 4}[TARGET]
"""Four compute units hold 16 of these workgroups on GCN3 (barrier slots), 40 or 64 on Vega."""


@pytest.mark.parametrize(
    ("name", "direction"),
    [(name, direction) for name in LARGE for direction in DIRECTIONS if (name, direction) != ("bn", "bwd")],
)
def test_the_first_workgroups_tell_the_whole(
    name: str, direction: Direction, gem5: Gem5, visible: Path
) -> None:
    """The interval of the extrapolated cycles holds those of the whole run; counts of work are exact."""
    found = launches(parse(LARGE[name]), direction, 4)
    run(found, gem5, visible)
    whole = kernel_table(visible / "run")
    shutil.rmtree(visible / "run")
    record = run(found, gem5, visible, fills=FILLS)
    assert record.results is not None and record.results.agree is not False, record.results
    row, cut = read_record(visible / "run"), kernel_table(visible / "run")
    assert isinstance(row, Row) and row.values["extrapolated"]
    assert any(launch.ran for launch in record.launches)
    assert row.values["gpu_cycles_low"] <= whole["gpu_cycles"].sum() <= row.values["gpu_cycles_high"]
    for counter in ("workgroups", "wavefronts", "instructions", "valu_thread_cycles"):
        assert row.counters[counter] == pytest.approx(whole[counter].sum(), rel=0.02), counter
    assert list(cut["extrapolated"] != "") == [launch.ran is not None for launch in record.launches]


@pytest.mark.parametrize("gfx", [APU, DISCRETE])
def test_inputs_in_memory_are_right_and_in_no_cache(gfx: str, gem5: Gem5, visible: Path) -> None:
    """What the CPU has not written its caches do not hold: every line that the GPU loads comes from DRAM.

    A ReLU of 65,536 elements loads 4,096 lines. The CPU's L2 (2 MB) holds them all where it has written them.
    """
    found = launches(parse(layer("Activation", (1, 16, 64, 64), activation_mode="relu")), "fwd", 4)
    read = {}
    for in_memory in (False, True):
        record = run(found, gem5, visible, gfx=gfx, in_memory=in_memory)
        assert record.results is not None
        assert record.results.agree, record.results.note
        [read[in_memory]] = kernel_table(visible / "run")["dram_bytes_written"] / 64
        shutil.rmtree(visible / "run")
    assert read[False] < 1.1 * 4096
    assert read[True] > 1.8 * 4096


def test_wrong_numbers_carry_a_flag(gem5: Gem5, visible: Path) -> None:
    """Spatial batch normalisation: cycles come out, values do not."""
    name, direction, named = WRONG
    record = run(launches(parse(CASES[name]), direction, 4), gem5, visible, as_upstream=True)
    assert record.results is not None
    assert record.results.agree is False
    row = read_record(visible / "run")
    assert isinstance(row, Row)
    assert row.values["max_relative_error"] > TOLERANCE
    [flag] = [text for text in row.findings if text.startswith("wrong results")]
    assert all(text in flag for text in named)


def test_crash_names_the_instruction(gem5: Gem5, visible: Path) -> None:
    name, direction, named = CRASH
    record = run(
        launches(parse(CASES[name]), direction, 4), gem5, visible, on_failure="record", as_upstream=True
    )
    assert record.status == "gem5_panic"
    assert all(text in record.evidence for text in named)


def test_uncorrected_code_computes_wrong(gem5: Gem5, visible: Path) -> None:
    """As MIOpen compiles it: a wrong operand and a kept upper half, or the end at the instruction."""
    made = operations.make("convolution", SHAPES["convolution direct small"])
    record = run(made.launches("fwd", 4), gem5, visible, on_failure="record", as_upstream=True)
    if "refused_sdwa" in MISTAKES:
        assert record.status == "gem5_panic"
        assert "SDWA not implemented for v_mul_lo_u16" in record.evidence
        return
    assert record.results is not None
    assert record.results.agree is False
    assert "v_mul_lo_u16_sdwa" in (record.results.note or "")


@pytest.mark.parametrize("gfx", [APU, DISCRETE])
def test_private_memory(gfx: str, gem5: Gem5, visible: Path) -> None:
    record = run(launches(parse(SCRATCH), "fwd", 4), gem5, visible, gfx=gfx)
    [said] = (visible / "run").glob(f"attempts/*/m5out/{gem5.stdout_file}")
    assert re.search(r"dispatch 0 MIOpenBatchNorm\w+ .* private [1-9]", said.read_text())
    assert record.results is not None
    assert record.results.agree, record.results.note


@pytest.mark.parametrize("name", ["softmax", "fc"])
def test_discrete_gpu(name: str, gem5: Gem5, visible: Path) -> None:
    """With --dgpu all memory is registered with the driver first."""
    record = run(launches(parse(CASES[name]), "fwd", 4), gem5, visible, gfx=DISCRETE)
    assert record.status == "completed"
    assert record.results is not None
    assert record.results.agree, record.results.note


ROCBLAS = {
    "nn": ("NN", 128, 96, 256, 1, 0.0, 1.0, 0),
    "nn_edges": ("NN", 100, 70, 130, 1, 0.0, 1.0, 0),
    "nn_beta": ("NN", 64, 48, 128, 1, 0.5, 1.0, 0),
    "nn_batch": ("NN", 64, 48, 64, 3, 0.0, 1.0, 0),
    "nt": ("NT", 128, 64, 64, 1, 0.0, 1.0, 0),
    "nt_edges": ("NT", 70, 33, 100, 1, 1.0, 1.0, 0),
    "tn": ("TN", 64, 48, 256, 1, 0.0, 1.0, 0),
    "tn_one_column": ("TN", 100, 1, 400, 1, 0.0, 1.0, 0),
    "tn_batch": ("TN", 33, 17, 90, 2, 0.5, 1.0, 0),
    "tt": ("TT", 48, 40, 64, 1, 0.0, 1.0, 0),
    "nn_padded": ("NN", 70, 41, 130, 2, 0.5, -1.5, 3),
    "nt_padded": ("NT", 129, 65, 40, 1, 1.0, 0.25, 5),
    "tn_padded": ("TN", 65, 33, 100, 2, 0.0, 2.0, 1),
    "nn_whole_padded": ("NN", 129, 900, 20, 1, 0.25, 1.5, 3),
    "nn_split_2": ("NN", 2500, 1, 40, 1, 0.0, 1.0, 0),
    "nn_split_8_row_offsets": ("NN", 1, 2500, 9, 1, 0.0, 1.0, 0),
    "nn_split_16": ("NN", 5, 1, 40, 1, 1.0, 1.0, 0),
    "nn_split_32": ("NN", 5, 1, 900, 1, 0.0, 1.0, 0),
    "nt_split_2": ("NT", 900, 4, 20, 1, 0.0, 1.0, 0),
    "tn_split_2": ("TN", 1, 40, 2500, 1, 0.0, 1.0, 0),
    "tn_split_4": ("TN", 2500, 1, 17, 1, 0.0, 1.0, 0),
    "tn_split_8_row_offsets": ("TN", 3, 2, 2500, 1, 0.0, 1.0, 0),
}
"""Transposes, m, n, k, batch, beta, alpha, padding of rows and of products of a batch.

By rocBLAS' choice NN and NT are split 4 ways and TN is not, where the name says nothing else.
TT is left to the stand-in.
"""


@pytest.mark.skipif(TARGET != "GCN3_X86", reason="rocBLAS' kernels are those for gfx803: GCN3 alone")
@pytest.mark.parametrize("gfx", ["gfx801", "gfx803"])
@pytest.mark.parametrize("name", ROCBLAS)
def test_rocblas_kernels_compute_what_numpy_says(name: str, gfx: str, gem5: Gem5, visible: Path) -> None:
    checkouts()
    form, m, n, k, batch, beta, alpha, pad = ROCBLAS[name]
    a, b = form[0] == "T", form[1] == "T"
    lda, ldb, ldc = (k if a else m) + pad, (n if b else k) + pad, m + pad
    strides = (lda * (m if a else k) + pad, ldb * (k if b else n) + pad, ldc * n + pad)
    gemm = Gemm(m, n, k, a, b, batch, lda, ldb, ldc, *strides, beta, alpha=alpha)
    size_a, size_b, size_c = (batch * stride for stride in strides)
    memory = (
        Arg("buffer", "a", size_a, "in", "a"),
        Arg("buffer", "b", size_b, "in", "b"),
        Arg("buffer", "c", size_c, "inout" if beta or pad else "out", "c"),
    )
    found = library_launches([product("layer", "FullyConnected", "fwd", memory, gemm)], gfx)
    record = run(found, gem5, visible, gfx=gfx)
    assert record.status == "completed"
    assert record.results is not None
    assert record.results.agree, record.results.note
    assert [bool(launch.library) for launch in record.launches][-1] == (form != "TT")
