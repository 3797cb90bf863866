"""How runs end: the real ones that were recorded, and gem5's, DNNMark's and MIOpen's own texts."""

# ruff: noqa: E501  (texts as they are printed)

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from gem5_text import one_after_another
from places import DATA

from apuflow.core.record import Status
from apuflow.run.outcome import ExitFacts, Expectation, Outcome, classify

RECORDED = DATA / "gem5_outcomes"
STARTED = "src/sim/simulate.cc:194: info: Entering event queue @ 0.  Starting simulation...\n"
NORMAL = "Ticks: 5068886000\nExiting because  exiting with last active thread context\n"
DNNMARK_END = "I0909 01:46:40.005068   100 test_fwd_softmax.cc:22] DNNMark suites: Tear down...\n"
DNNMARK = Expectation(end_marker="DNNMark suites: Tear down...")


@pytest.fixture(scope="module")
def real_text() -> str:
    """Statistics that a real gem5 wrote; they end at tick 5068886000."""
    return lzma.open(RECORDED / "ok/stats.txt.xz", "rt").read()


@pytest.fixture
def statistics(tmp_path: Path, real_text: str) -> Path:
    path = tmp_path / "stats.txt"
    path.write_text(real_text)
    return path


@pytest.mark.parametrize("case", sorted(path.parent.name for path in RECORDED.glob("*/case.json")))
def test_recorded_endings(case: str) -> None:
    directory = RECORDED / case
    facts = json.loads((directory / "case.json").read_text())
    outcome = classify(
        ExitFacts(facts["exit_code"]),
        (directory / "simout").read_text(),
        (directory / "simerr").read_text(),
        directory / "stats.txt.xz",
        Expectation(end_marker="sum1000"),
    )
    assert outcome.status == facts["expect"]


def end(
    code: int, simout: str = "", simerr: str = "", statistics: Path | None = None, **facts: Any
) -> Outcome:
    exit_facts = ExitFacts(code, **facts)
    return classify(exit_facts, simout, simerr, statistics, DNNMARK)


def test_a_proven_run(statistics: Path) -> None:
    outcome = end(0, NORMAL, STARTED + DNNMARK_END, statistics)
    assert outcome.completed
    assert outcome.ticks == 5068886000
    assert outcome.statistics.kernels == 1
    assert outcome.statistics.wavefronts == 400  # 104 + 100 + 96 + 100 on the four compute units


def test_a_guest_that_starts_a_program_is_told_why_that_fails() -> None:
    """Batch normalisation asks MIOpen's assembler for its version; gem5 v23.0.1.0 in an image of Debian 11."""
    text = (
        "src/sim/syscall_emul.cc:67: fatal: syscall vfork (#58) unimplemented.\nMemory Usage: 3365704 KBytes"
    )
    outcome = end(1, "", STARTED + text)
    assert outcome.status is Status.GEM5_FATAL
    assert "assembler" in str(outcome.remedy)
    assert "apuflow kernels" in str(outcome.remedy)
    assert end(1, "", STARTED + text.replace("vfork (#58)", "memfd_create (#319)")).remedy is None


def test_rocblas_own_kernels_that_end_gem5_are_told_what_to_do() -> None:
    """DNNMark's fully connected layer on gem5 v23.0.1.0 with the kernels of rocBLAS rocm-4.0.0."""
    text = "src/gpu-compute/scoreboard_check_stage.cc:158: panic: next instruction: s_setprio is of unknown type\n"
    outcome = end(134, "", STARTED + text)
    assert outcome.status is Status.GEM5_PANIC
    assert "rocblas_kernels: changed" in str(outcome.remedy)
    assert end(134, "", STARTED + text.replace("s_setprio", "s_sendmsg")).remedy is None


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (1, "src/arch/amdgpu/vega/insts/gpu_static_inst.cc:56: fatal: Encountered unimplemented VEGA instruction: v_rcp_f16"),
        (1, "src/arch/amdgpu/vega/gpu_decoder.cc:9: fatal: Trying to decode instruction without a class"),
        (134, "src/arch/amdgpu/vega/insts/vop2.cc:9: panic: panic condition isSDWAInst() occurred: SDWA not implemented "
         "for v_mul_lo_u16"),
    ],
)  # fmt: skip
def test_an_instruction_that_gem5_does_not_execute_is_told_as_that(status: int, text: str) -> None:
    """Words of gem5's sources: v24.0.0.1, and vop2.cc of its commit c91af552."""
    assert "another release" in str(end(status, "", STARTED + text).remedy)


GEM5_ENDS = [
    # exit status, what stands on standard error, expected status, part of the evidence
    (1, "src/sim/syscall_emul.cc:67: fatal: syscall memfd_create (#319) unimplemented.\nMemory Usage: 2 KBytes",
     Status.GEM5_FATAL, "memfd_create"),
    (1, "src/gpu-compute/gpu_compute_driver.cc:926: fatal: kfd: bad ioctl 130", Status.GEM5_FATAL, "bad ioctl"),
    (1, "src/arch/amdgpu/gcn3/insts/gpu_static_inst.cc:56: fatal: Encountered unimplemented GCN3 instruction: "
     "v_mad_mix_f32", Status.GEM5_FATAL, "v_mad_mix_f32"),
    (1, "src/sim/mem_pool.cc:120: fatal: fatal condition freePages() <= 0 occurred: Out of memory, please increase "
     "size of physical memory.", Status.GUEST_OUT_OF_MEMORY, "increase size of physical memory"),
    (1, "src/mem/physical.cc:247: fatal: Could not mmap 68719476736 bytes for range [0:0x1000000000]!",
     Status.HOST_OUT_OF_MEMORY, "Could not mmap"),
    (134, "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
     Status.HOST_OUT_OF_MEMORY, "bad_alloc"),
    (134, "src/sim/faults.cc:60: panic: panic condition !FullSystem occurred: fault (General-Protection) detected @ "
     "PC (0x7ffff7a42428=>0x7ffff7a42429)\nMemory Usage: 2 KBytes\nProgram aborted at tick 1000",
     Status.GEM5_PANIC, "General-Protection"),
    (134, "src/arch/x86/faults.cc:164: panic: Tried to read unmapped address 0x8.\nProgram aborted at tick 1000",
     Status.GEM5_PANIC, "unmapped address 0x8"),
    (134, "src/gpu-compute/compute_unit.cc:565: panic: panic condition wfs > max occurred: WG with 16 WFs and 256 "
     "VGPRs per WI can not be allocated to CU that has 40 WF slots", Status.GEM5_PANIC, "can not be allocated"),
    (134, "gem5.opt: src/gpu-compute/gpu_compute_driver.cc:1105: void gem5::GPUComputeDriver::setMtype(RequestPtr): "
     "Assertion `vma != gpuVmas.end()' failed.\nProgram aborted at tick 7", Status.GEM5_PANIC, "gpuVmas"),
    (134, "src/mem/ruby/system/GPUCoalescer.cc:292: warn: GPUCoalescer 3 Possible deadlock detected!\n"
     "src/mem/ruby/system/GPUCoalescer.cc:294: panic: Aborting due to deadlock!", Status.DEADLOCK, "GPUCoalescer 3"),
    (134, "src/mem/ruby/system/Sequencer.cc:240: panic: Possible Deadlock detected. Aborting!\nversion: 0",
     Status.DEADLOCK, "Possible Deadlock"),
    (139, "gem5 has encountered a segmentation fault!\n\n--- BEGIN LIBC BACKTRACE ---",
     Status.GEM5_CRASH, "segmentation fault"),
    (134, "terminate called without an active exception", Status.GEM5_CRASH, "134"),
    (0, "", Status.GEM5_CRASH, "without an exit cause"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "status", "evidence"), GEM5_ENDS)
def test_gem5_ends_without_a_cause(code: int, text: str, status: Status, evidence: str) -> None:
    outcome = end(code, "gem5 version 23.0.1.0\n", f"{STARTED}dispatch\n{text}\n")
    assert (outcome.status, evidence in outcome.evidence) == (status, True), outcome


@pytest.mark.parametrize(
    ("code", "text", "evidence"),
    [
        (2, "usage: apu_se.py [-h]\napu_se.py: error: argument --mem-type: invalid choice: 'DDR9'\n",
         "argument --mem-type: invalid choice: 'DDR9'"),
        (1, "fatal: dnnmark_test_fwd_softmax not found in ['/nowhere']\n", "dnnmark_test_fwd_softmax not found"),
        (1, "src/gpu-compute/compute_unit.cc:185: fatal: Invalid WF execution policy (CU)\nMemory Usage: 1 KBytes\n",
         "Invalid WF execution policy (CU)"),
        (1, 'Traceback (most recent call last):\n  File "apu_se.py", line 947, in <module>\n    assert gfx\n'
            "AssertionError: Incorrect gfx version for APU\n", "AssertionError: Incorrect gfx version for APU"),
        (1, "AssertionError: Incorrect gfx version for APU\n\nAt:\n  /g/configs/example/apu_se.py(947): <module>\n"
            "  src/python/m5/main.py(630): main\n", "AssertionError: Incorrect gfx version for APU"),
        (127, "[FATAL tini (7)] exec /g/gem5.opt failed: No such file or directory\n",
         "exec /g/gem5.opt failed: No such file or directory"),
        (127, "gem5.opt: error while loading shared libraries: libprotobuf.so.23: cannot open shared object file\n",
         "error while loading shared libraries: libprotobuf.so.23"),
    ],
)  # fmt: skip
def test_nothing_was_simulated(code: int, text: str, evidence: str) -> None:
    outcome = end(code, "", text)
    assert outcome.status is Status.CONFIG_ERROR
    assert evidence in outcome.evidence


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({"oom_killed": True, "memory_bytes": 4 << 30}, Status.HOST_OUT_OF_MEMORY),
        ({"stopped": "wall", "wall_seconds": 60.0}, Status.TIMEOUT),
        ({"stopped": "interrupt"}, Status.INTERRUPTED),
        ({"stopped": "abandoned"}, Status.INTERRUPTED),
        ({"stopped": "engine"}, Status.INTERRUPTED),
        ({}, Status.INTERRUPTED),
    ],
)
def test_killed_runs_are_told_apart(facts: dict[str, Any], status: Status) -> None:
    assert end(137, "", STARTED, **facts).status is status


def test_a_wall_limit_is_a_timeout_though_gem5_returns_0(statistics: Path) -> None:
    simout = "Ticks: 5068886000\nExiting because  user interrupt received\n"
    outcome = end(0, simout, STARTED, statistics, stopped="wall", wall_seconds=3600.0)
    assert outcome.status is Status.TIMEOUT
    assert "3600 s" in outcome.evidence
    assert end(0, simout, STARTED, statistics).status is Status.INTERRUPTED


def test_a_run_that_ended_before_the_signal_reached_it_counts(statistics: Path) -> None:
    assert end(0, NORMAL, STARTED + DNNMARK_END, statistics, stopped="interrupt").completed


def test_a_last_line_without_an_end_does_not_hide_the_ticks(statistics: Path) -> None:
    assert end(0, f"sum 99999{NORMAL}", STARTED + DNNMARK_END, statistics).completed


def test_maximum_tick_is_incomplete_though_gem5_returns_0(statistics: Path) -> None:
    simout = "Ticks: 5068886000\nExiting because  simulate() limit reached\n"
    outcome = end(0, simout, STARTED + DNNMARK_END, statistics)
    assert outcome.status is Status.INCOMPLETE
    assert "5068886000" in outcome.evidence


GUEST_ERRORS = [
    # DNNMark's macros write to standard output without a line end, so gem5's Ticks line follows at once.
    (1, "HIP Error at /d/data_manager.h61\nhipErrorOutOfMemory\n", "", "HIP Error at /d/data_manager.h61"),
    (1, "ROCBLAS Error: 6 at /d/fc_layer.h166", "", "ROCBLAS Error: 6"),
    (1, "Parse configuration Error at /d/dnnmark.cc88\n", "", "Parse configuration Error"),
    (
        1,
        "",
        "MIOpen Error: /m/src/ocl/poolingocl.cpp:61: Unsupported pooling mode\n",
        "Unsupported pooling mode",
    ),
    (
        0,
        "",
        "F0909 01:46:40.0021 100 dnn_layer.h:186] Wrong previous layer name!!!\n",
        "Wrong previous layer",
    ),
    (0, "", "terminate called after throwing an instance of 'std::runtime_error'\n", "terminate called"),
    (3, "bye\n", "", "status 3: bye"),
]


@pytest.mark.parametrize(("code", "out", "err", "evidence"), GUEST_ERRORS)
def test_a_failed_guest_leaves_full_statistics_and_no_row(
    code: int, out: str, err: str, evidence: str, statistics: Path
) -> None:
    outcome = end(code, out + NORMAL, STARTED + err, statistics)
    assert outcome.status is Status.GUEST_FAILURE
    assert evidence in outcome.evidence
    assert outcome.ticks == 5068886000


def test_a_guest_abort_that_exits_0_is_caught_by_the_missing_end_marker(statistics: Path) -> None:
    """From v23.1 on abort() in the guest ends gem5 with 0 and full statistics."""
    outcome = end(0, NORMAL, STARTED + "I0909 01:46:40.0010 100 dnnmark.cc:91] Running mode: 1\n", statistics)
    assert outcome.status is Status.GUEST_FAILURE
    assert "Running mode: 1" in outcome.evidence


def test_a_workload_can_name_its_own_error_text(statistics: Path) -> None:
    expectation = Expectation(error_texts=("FAILED!",))
    outcome = classify(ExitFacts(0), f"result: FAILED!\n{NORMAL}", STARTED, statistics, expectation)
    assert (outcome.status, outcome.evidence) == (Status.GUEST_FAILURE, "result: FAILED!")


KEY = " -DNUM_BATCH=1 -DUSE_SOFTMAX_MODE_INSTANCE=1 -DRUN_FORWARD=1 -DIS_INPUT_PACKED=1"


@pytest.mark.parametrize(
    "text",
    [
        "MIOpen Error: /root/driver/MLOpen/src/tmp_dir.cpp:45: Can't execute cd /tmp/miopen-MIOpenSoftmax.cl-e0b1-7d22;"
        f" /opt/rocm/bin/clang-ocl {KEY} -mcpu=gfx801 -Wno-everything -Xclang -target-feature MIOpenSoftmax.cl -o "
        "/tmp/miopen-MIOpenSoftmax.cl-e0b1-7d22/MIOpenSoftmax.cl.o",
        "MIOpen(HIP): Info2 [LoadBinary] Unable to load binary for: MIOpenSoftmax.cl ;args: "
        f"{KEY} -mcpu=gfx801\nMIOpen Error: 7 at /d/softmax_layer.h113",
    ],
    ids=["compiler command", "log level 6"],
)
def test_a_missing_kernel_names_its_exact_key_and_the_command_that_adds_it(text: str) -> None:
    outcome = end(1, NORMAL, f"{STARTED}{text}\n")
    assert outcome.status is Status.MISSING_KERNEL
    assert "MIOpenSoftmax.cl" in outcome.evidence
    assert outcome.remedy is not None
    assert f"apuflow kernels --add 'MIOpenSoftmax.cl,{KEY}'" in outcome.remedy


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: "", "is empty"),
        (lambda text: text[: len(text) // 2], "cut"),
        (lambda text: text[: text.index("---------- End")], "cut"),
        (lambda text: text[: text.rindex("--") + 1], "cut"),
        (lambda text: text + text, "block 2, which ends here, counts again"),
        (lambda text: text + text[: len(text) // 2], "cut"),
        (lambda text: text.replace("finalTick ", "finalTock "), "no finalTick"),
        (
            lambda text: text.replace(
                "finalTick                                  5068886000",
                "finalTick                                  6068886000",
            ),
            "from another run",
        ),
        (lambda text: "no statistics at all\n", "no statistics block"),
    ],
)
def test_statistics_that_prove_nothing(change: object, reason: str, statistics: Path, real_text: str) -> None:
    statistics.write_text(change(real_text))  # type: ignore[operator]
    outcome = end(0, NORMAL, STARTED + DNNMARK_END, statistics)
    assert outcome.status is Status.NO_STATISTICS
    assert reason in outcome.evidence


def test_fewer_blocks_than_kernels_are_not_a_block_each(statistics: Path, real_text: str) -> None:
    """A release's file that wrongly says ``per_kernel_statistics``: one block holds both kernels."""
    expectation = Expectation(blocks=None, kernels=2)
    line = next(row for row in real_text.splitlines() if "numKernelLaunched" in row)
    statistics.write_text(real_text.replace(line, line.replace(" 1 ", " 2 ")))
    outcome = classify(ExitFacts(0), NORMAL, STARTED, statistics, expectation)
    assert outcome.status is Status.NO_STATISTICS
    assert "1 statistics blocks for 2 kernels" in outcome.evidence
    statistics.write_bytes(one_after_another(*[real_text.encode()] * 2))
    end_of_both = NORMAL.replace("5068886000", "10137772000")
    assert classify(ExitFacts(0), end_of_both, STARTED, statistics, expectation).completed


def test_missing_statistics(tmp_path: Path) -> None:
    outcome = end(0, NORMAL, STARTED + DNNMARK_END, tmp_path / "stats.txt")
    assert outcome.status is Status.NO_STATISTICS


def test_a_run_without_a_kernel_is_no_run(statistics: Path, real_text: str) -> None:
    line = next(row for row in real_text.splitlines() if "numKernelLaunched" in row)
    statistics.write_text(real_text.replace(line, line.replace(" 1 ", " 0 ")))
    outcome = end(0, NORMAL, STARTED + DNNMARK_END, statistics)
    assert outcome.status is Status.GUEST_FAILURE
    assert "0 kernels" in outcome.evidence


def test_a_release_that_dumps_per_kernel_writes_several_blocks(statistics: Path, real_text: str) -> None:
    statistics.write_bytes(one_after_another(*[real_text.encode()] * 2))
    end_of_both = NORMAL.replace("5068886000", "10137772000")
    expectation = Expectation(blocks=None, kernels=2)
    outcome = classify(ExitFacts(0), end_of_both, STARTED, statistics, expectation)
    assert outcome.completed
    assert (outcome.statistics.blocks, outcome.statistics.kernels) == (2, 2)


def test_gem5_that_fails_after_its_exit_cause_is_not_completed(statistics: Path) -> None:
    """Seen with HSA_ENABLE_INTERRUPT=0: the guest ends, then an assertion of gem5 fails."""
    assertion = "src/cpu/simple/base.cc:131: Assertion `_status == BaseSimpleCPU::Running' failed."
    outcome = end(134, NORMAL, f"{STARTED}{DNNMARK_END}gem5.opt: {assertion}\n", statistics)
    assert outcome.status is Status.GEM5_PANIC


def test_a_page_walk_that_finds_no_page_has_a_remedy_that_names_the_kernel_not_the_tlb() -> None:
    """``GpuTLB::handleTranslationReturn`` of gem5 v24.1, as glibc's assert prints it."""
    text = (
        "gem5.opt: src/arch/amdgpu/common/tlb.cc:825: void gem5::X86ISA::GpuTLB::handleTranslationReturn("
        "gem5::Addr, tlbOutcome, gem5::PacketPtr): Assertion `new_entry' failed.\n"
    )
    found = end(134, "", STARTED + text)
    assert (
        found.remedy is not None and "never mapped" in found.remedy and "--debug-flags=GPUTLB" in found.remedy
    )
    assert end(134, "", STARTED + text.replace("new_entry", "tlb_event")).remedy is None
