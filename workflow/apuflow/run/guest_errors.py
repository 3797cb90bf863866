"""What is known of a failure of the program inside gem5, and what to do about it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from apuflow.run.error_texts import error_line

_UNABLE = re.compile(r"Unable to load binary for: (?P<name>\S+) ;args: (?P<args>.*?)(?: -mcpu=\S+)?$", re.M)
_COMPILER = re.compile(
    r"Can't execute cd \S+; .*?(?:clang-ocl|hipcc|clang\+\+) (?P<args>.*?)(?: -mcpu=\S+)?"
    r" (?:-Wno-everything|-Werror).* (?P<name>\S+\.(?:cl|cpp|s)) -o \S+$",
    re.M,
)
_NOT_EXECUTED = re.compile(
    r"Encountered unimplemented \w+ instruction|decode instruction without a class|Invalid opcode encountered"
    r"|(?:SDWA|DPP) not (?:implemented|supported) for "
)
"""``src/arch/amdgpu``: ``insts/gpu_static_inst.cc``, the decoder; after v24.0 ``insts/vop1.cc`` and more."""
_OTHER_CODE_REMEDY = (
    "this gem5 does not execute an instruction of the kernel: take another release, or have other code "
    "compiled; `apuflow check-kernels` says of kernels of your own which releases execute them"
)
_GUEST_FAULT = re.compile(
    r"fault \([\w-]+\) detected @ PC|Tried to \w+ unmapped address|Unrecognized/invalid instruction executed"
    r"|Page fault at addr|syscall (?:t|tg)?kill \(#\d+\) unimplemented"
)
"""``src/sim/faults.cc``, ``src/arch/x86/faults.cc``, ``src/arch/x86/linux/se_workload.cc``."""
_STARTS_A_PROGRAM = re.compile(r"syscall v?fork \(#\d+\) unimplemented")
_TOO_FEW_BITS = re.compile(r"Number of bits\(\d+\) < size specified")
_HARMLESS = re.compile(r"^(?:\S+:\d+: )?(?:warn|info|hack): |^Memory Usage: |^Forcing maxCoalescedReqs|^\s*$")


@dataclass(frozen=True)
class MissingKernel:
    """A kernel that MIOpen did not find in its database.

    Attributes:
        program: the key's first part, a MIOpen source file (``MIOpenSoftmax.cl``).
        arguments: the key's second part, with its leading space as MIOpen stores it.
    """

    program: str
    arguments: str

    @property
    def evidence(self) -> str:
        """What was missing, in words."""
        return f"MIOpen found no kernel for {self.program} with{self.arguments or ' no arguments'}"

    @property
    def remedy(self) -> str:
        """The command that adds it."""
        row = shlex.quote(f"{self.program},{self.arguments}")
        return f"add it to the kernel database, then run again: apuflow kernels --add {row}"


def missing_kernel(text: str) -> MissingKernel | None:
    """The first kernel that MIOpen could not load and could not compile, or None.

    With MIOPEN_LOG_LEVEL=6 MIOpen prints the key itself; without, the compiler command that
    cannot run inside gem5 has it: key arguments, ``-mcpu=``, warning flags, source (src/hipoc/hipoc_program.cpp,
    src/tmp_dir.cpp).
    """
    match = _COMPILER.search(text) or (_UNABLE.search(text) if error_line(text) else None)
    return None if match is None else MissingKernel(match["name"], match["args"].rstrip())


def remedy_of_fatal(message: str) -> str | None:
    """What to do about gem5's ``fatal:``, where the program inside it is the reason and something is known.

    Seen on Debian 11: MIOpen rocm-4.0.1 starts its assembler for batch normalisation
    (src/ocl/gcn_asm_utils.cpp), and ``sh`` takes ``vfork``.
    """
    if _TOO_FEW_BITS.search(message):
        return (
            "fewer compute units, TCCs or directories, or a gem5 built with a larger NUMBER_BITS_PER_SET "
            "(build_opts), with set_bits in capabilities of its release's file"
        )
    if not _STARTS_A_PROGRAM.search(message):
        return _OTHER_CODE_REMEDY if _NOT_EXECUTED.search(message) else None
    return (
        "the program tried to start another one, which this gem5 cannot do. MIOpen does so to compile a "
        "kernel that its database lacks (apuflow kernels shows what it holds), and where batch normalisation "
        "or convolution ask its assembler for its version: an image without clang where MIOpen looks for it "
        "(/opt/rocm/llvm/bin/clang) makes it go on without"
    )


_UNMAPPED = re.compile(r"tlb\.cc:\d+: .*Assertion [`']new_entry' failed")
_UNMAPPED_REMEDY = (
    "a kernel accessed a page that the program never mapped: no option of the TLBs changes that. Rerun the "
    "launch alone with --debug-flags=GPUTLB; the last `Doing a page walk for address` names the page. Then "
    "look for an index out of range in the kernel, for an instruction of this kernel that gem5 computes "
    "wrongly (apuflow check-kernels), or for a fault of the compiler (APUFLOW_CLANG names another clang)"
)


def remedy_of_assertion(message: str) -> str | None:
    """What to do about a failed assertion of gem5, where something is known.

    The walk of a last-level TLB that finds no page leaves ``tlbEntry`` null; ``fixupFault`` maps pages of
    mapped regions alone: ``GpuTLB::translationReturn`` and ``handleTranslationReturn`` in
    ``src/arch/amdgpu/common/tlb.cc`` (gem5 v24.1), ``MemState::fixupFault`` in ``src/sim/mem_state.cc``.
    """
    return _UNMAPPED_REMEDY if _UNMAPPED.search(message) else None


def remedy_of_panic(message: str) -> str | None:
    """What to do about gem5's ``panic:``, where something is known: rocBLAS' kernels have ``s_setprio``.

    Source: gem5 v23.0.1.0, ``src/gpu-compute/scoreboard_check_stage.cc``; gem5 v24.0 knows the instruction.
    """
    if (remedy := remedy_of_assertion(message)) is not None:
        return remedy
    if ends_a_guest(message):
        return "the program inside gem5 aborted or erred: read what it printed in simout and simerr"
    if "s_setprio is of unknown type" not in message:
        return _OTHER_CODE_REMEDY if _NOT_EXECUTED.search(message) else None
    return "image: {rocblas_kernels: changed} in configs/site.yaml gives rocBLAS kernels that gem5 executes"


def first_error(text: str, more: tuple[str, ...] = ()) -> str | None:
    """The first line that means failure, or None."""
    known = error_line(text)
    if known is not None:
        return known
    return next((line.strip() for line in text.splitlines() if any(piece in line for piece in more)), None)


def ends_a_guest(message: str) -> bool:
    """Whether a message of gem5 is what becomes of a program that ends itself or errs.

    Before v23.1 ``tgkill`` fails, and glibc's ``abort()`` goes on to a ``hlt``: a general protection fault
    (pull request 284). ``__builtin_trap`` is an invalid instruction, a null pointer an unmapped address.
    """
    return _GUEST_FAULT.search(message) is not None


def last_words(simout: str, simerr: str) -> str | None:
    """The last line that the guest seems to have printed (gem5's own chatter left out)."""
    for text in (simerr, simout):
        for line in reversed(text.splitlines()):
            if not _HARMLESS.match(line) and not line.startswith(("Ticks: ", "Exiting because ")):
                return line.strip()[:300]
    return None
