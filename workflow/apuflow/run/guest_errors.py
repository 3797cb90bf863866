"""What is known of a failure of the program inside gem5, and what to do about it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

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

    With MIOPEN_LOG_LEVEL=6 MIOpen prints the key itself. Otherwise the compiler command that cannot run
    inside gem5 holds it: key arguments, ``-mcpu=``, warning flags, source (src/hipoc/hipoc_program.cpp,
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
"""The walk of a last-level TLB that finds no page leaves ``tlbEntry`` null; ``fixupFault`` maps pages of
mapped regions alone: ``GpuTLB::translationReturn`` and ``handleTranslationReturn`` in
``src/arch/amdgpu/common/tlb.cc`` (gem5 v24.1), ``MemState::fixupFault`` in ``src/sim/mem_state.cc``."""


def remedy_of_panic(message: str) -> str | None:
    """What to do about gem5's ``panic:`` or failed assertion, where something is known.

    rocBLAS' kernels have ``s_setprio``: gem5 v23.0.1.0, ``src/gpu-compute/scoreboard_check_stage.cc``; gem5
    v24.0 knows the instruction.
    """
    if _UNMAPPED.search(message):
        return _UNMAPPED_REMEDY
    if ends_a_guest(message):
        return "the program inside gem5 aborted or erred: read what it printed in simout and simerr"
    if "s_setprio is of unknown type" not in message:
        return _OTHER_CODE_REMEDY if _NOT_EXECUTED.search(message) else None
    return "image: {rocblas_kernels: changed} in configs/site.yaml gives rocBLAS kernels that gem5 executes"


def first_error(text: str, more: tuple[str, ...] = ()) -> str | None:
    """The first line that means failure, or else the first with one of the texts ``more``, or None."""
    own = (line.strip() for line in text.splitlines() if any(piece in line for piece in more))
    return error_line(text) or next(own, None)


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


# texts that mean failure, by who prints them -------------------------------------------------------------
_LIBRARY = (
    r"(?:HIP|hip|HSA|hsa|ROCm|CUDA|cuda|MIOpen|miopen|rocBLAS|rocblas|ROCBLAS|hipBLAS|hipblas|HIPBLAS"
    r"|rocFFT|hipFFT|rocRAND|hipRAND|rocSPARSE|hipSPARSE|RCCL|Tensile)"
)
_NOT_NONE = r"(?!s?\s*(?:[:=]|is|was)?\s*(?:0\b|none\b|no\b))"
_MOST = 4096
"""Characters at each end of a line that are searched."""

# Up to gem5 v23.0 a guest's abort() ends in a fault; from v23.1 on ``tgkill`` turns it into
# ``exit_group(0)``, and these texts are all that is left of it.
_PATTERNS = {
    # glibc assert/assert.c, musl src/exit/assert.c, HIP's device-side assert
    "assertion": r"[Aa]ssertion [`'\"].*['\"] ?failed|^Assertion failed: |:\d+: assertion .+ failed",
    "unexpected error": r":\d+: .*Unexpected error: .*\.$",
    # glibc malloc/malloc.c (malloc_printerr), malloc/mcheck.c
    "(): ": r"\b(?:free|malloc|realloc|calloc|memalign|munmap_chunk|mremap_chunk|malloc_consolidate"
    r"|int_mallinfo|__malloc_info|tcache_thread_shutdown|malloc_check_get_size|free_check|realloc_check)"
    r"\(\): (?:invalid|corrupt|unaligned|memory corruption|double free|too many chunks|chunks in|mismatching"
    r"|(?:small|large)bin double|unsorted double|top chunk)",
    "corrupt": r"\bdouble free or corruption\b"
    r"|\bcorrupted (?:size vs\. prev_size|double-linked list|unsorted chunks)"
    r"|\bmalloc(?:_check_get_size)?: (?:top chunk is corrupt|memory corruption)",
    "invalid fastbin entry": r"\binvalid fastbin entry \(free\)",
    "allocated block|freed twice": r"^memory clobbered (?:before|past end of) allocated block"
    r"|^block freed twice",
    # glibc debug/fortify_fail.c, __libc_message, __libc_fatal; musl
    "*** ": r"\*\*\* .+ \*\*\*: .*terminated|\*\*\* (?:Error in `|glibc detected \*\*\*)",
    " detected ***": r"\*\*\* (?:%n in writable segment|invalid %N\$ use|.*overflow|.*smashing) detected",
    "fatal": r"\bFatal glibc error: |^Fatal error: (?:glibc detected |length accounting|invalid format)"
    r"|^FATAL: (?:exception not rethrown|kernel too old|cannot determine kernel version)",
    "futex facility": r"^The futex facility returned an unexpected error code",
    "libgcc_s": r"libgcc_s\.so\.1 must be installed for ",
    "cannot ": r"^cannot (?:allocate|create) (?:TLS data|memory for thread-local data)",
    # glibc elf/dl-*.c, musl ldso/dynlink.c
    "loading shared librar": r"error while loading shared libraries|^Error loading shared library ",
    "isa level is lower": r"CPU ISA level is lower than required",
    "lookup error|relocat": r": (?:symbol|version) lookup error: |: relocation error: |^Error relocating ",
    "not found (required by": r"\bversion [`'].+' not found \(required by ",
    "ld.so": r"^Inconsistency detected by ld\.so",
    # libstdc++ vterminate.cc, pure.cc, debug.cc; libc++abi
    "terminate called": r"\bterminate called ",
    " virtual ": r"\b(?:pure|[Pp]ure|deleted|[Dd]eleted) virtual (?:method|function) called",
    "libc++abi": r"libc\+\+abi(?:\.\w+)?: ",
    "attempt to": r"(?:^|: )[Ee]rror: attempt to ",
    "what():": r"^\s*what\(\):  ",
    "exception": r"\b[Uu]n(?:caught|handled) (?:C\+\+ )?exception|^Exception in thread ",
    # HIP, ROCclr, ROCr, HCC
    "hiperror|cudaerror": r"\bhipError(?!NotReady\b|PeerAccessAlreadyEnabled\b)[A-Z]\w+"
    r"|\bcudaError(?!NotReady\b)[A-Z]\w+",
    "hsa_status_": r"\bHSA_STATUS_(?!SUCCESS\b|INFO_BREAK\b)[A-Z]\w+",
    "by gpu|core dump|queue error|vgpu=": r"Memory access fault by GPU|HW Exception by GPU|GPU core dump"
    r"|Queue error|Kernel Name: .* VGPU=",
    ":0:|:1:": r"^:[01]:\w+\.\w+ *: ?\d+",
    "unable to find code object|cannot find symbol": r"\bUnable to find code object\b"
    r"|\bCannot find [Ss]ymbol\b",
    "async error": r"\bdue to async error\b",
    "unable to open /dev": r"[Uu]nable to open /dev/(?:kfd|dri)",
    "device": r"\b[Nn]o (?:HIP|ROCm|GPU)(?:-capable)? (?:GPUs|devices?) "
    r"(?:is |are |was |were )?(?:detected|found|available)|\b[Nn]o device supporting HIP"
    r"|\bno ROCm-capable device|\binvalid device (?:function|symbol|ordinal)\b",
    " failed": r"\b(?:hip|hsa|miopen|rocblas|hipblas)_?[A-Za-z]\w+(?: ?\(.*\))?:? failed\b" + _NOT_NONE,
    "error: '": r"\b[Ee]rror: '.+' ?\(\d+\) at ",
    "launch failure": r"\bunspecified launch failure\b",
    # MIOpen errors.hpp and logger.hpp; status names of rocBLAS, hipBLAS and others; DNNMark common.h
    "miopen": r"\bMIOpen(?:\(\w+\))?: (?:Error|Fatal)\b|\bmiopenStatus(?!Success\b|_t\b)[A-Z]\w+",
    "rocblas_": r"\brocblas_status_(?!success\b|perf_degraded\b|size_unchanged\b|size_increased\b|continue\b)"
    r"[a-z]\w+|\brocblas_abort\b",
    "_status_": r"\b(?:HIPBLAS|CUBLAS|ROCSPARSE|HIPSPARSE|HIPRAND|ROCRAND)_STATUS_(?!SUCCESS\b)[A-Z]\w+",
    "fft_": r"\b(?:HIP|ROC|CU)FFT_(?:INVALID|ALLOC_FAILED|INTERNAL|EXEC_FAILED|SETUP_FAILED|INCOMPLETE)\w*",
    "parse configuration error": r"Parse configuration Error at ",
    "requested data larger": r"Requested data larger than binary file size",
    "error|failure": r"\b"
    + _LIBRARY
    + r"(?: runtime| API| status)? (?:[Ee]rror|ERROR|[Ff]ailure|FAILURE)\b"
    + _NOT_NONE,
    "cl_": r"\bCL_(?:INVALID_\w+|OUT_OF_\w+|\w+_FAILURE|\w+_NOT_(?:FOUND|AVAILABLE))\b",
    # glog and Abseil: fatal lines, CHECK, handlers of signals; dmlc, torch
    ":": r"^F\d{4,8} \d+:\d+:\d+\.\d+ ",
    "check failure stack trace": r"\*\*\* Check failure stack trace",
    "check failed": r"\b[Cc]heck failed: (?!0\b(?: of\b|$))",
    "raw: ": r"\bRAW: (?:Check .* failed|FATAL)",
    "*** aborted at|*** sig": r"^\*\*\* (?:Aborted at |SIG[A-Z]+ )",
    # compiler-rt, libsanitizer
    "sanitizer": r"\b(?:HW|Hw|Hardware)?(?:Address|Leak|Memory|Thread|UndefinedBehavior|DataFlow)Sanitizer\b",
    "runtime error: ": r"^\S+:\d+:\d+: runtime error: |\bFortran runtime error: |^fatal runtime error: ",
    # GoogleTest, Catch2, doctest, Boost.Test
    "failed": r"\[  FAILED  \]|^\s*[1-9]\d* FAILED TESTS?\b|^test cases: .*\b[1-9]\d* failed",
    "failure": r"Status: FAILURE!|^\*\*\* [1-9]\d* failures? (?:is|are) detected",
    # Rust, Go, Python, Fortran
    "panic": r"^thread '.*' (?:\(\d+\) )?panicked at |^panic: ",
    "memory allocation of": r"^memory allocation of \d+ bytes failed",
    "fatal error: ": r"^fatal error: ",
    "goroutine ": r"^goroutine \d+ \[",
    "traceback|fatal python": r"^Traceback \(most recent call last\):|^Fatal Python error: ",
    "received signal|error stop": r"Program received signal SIG|^ ?ERROR STOP\b",
    # libgomp; a shell's or a handler's word for a signal
    "libgomp": r"^libgomp: (?!Invalid value|Affinity|OMP_)",
    "abort|segmentation|bus error|illegal instruction|floating point": r"^(?:.*: )?"
    r"(?:Aborted|Segmentation fault|Bus error|Illegal instruction|Floating point exception)"
    r"(?: \(core dumped\))?[.!]?$",
}
"""A pattern for one line, by small letters of which the line holds one: they are found faster."""
_TEXTS = [(words.split("|"), re.compile(pattern)) for words, pattern in _PATTERNS.items()]


def error_line(text: str) -> str | None:
    """The first line that means failure, or None."""
    lowered = text.lower()
    possible = [(words, pattern) for words, pattern in _TEXTS if any(word in lowered for word in words)]
    if not possible:
        return None
    for line in text.splitlines():
        if len(line) > 2 * _MOST:
            line = f"{line[:_MOST]} {line[-_MOST:]}"
        small = line.lower()
        for words, pattern in possible:
            if any(word in small for word in words) and pattern.search(line):
                return line.strip()
    return None
