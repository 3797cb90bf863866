"""Triton kernels: read without Triton, compiled ahead of time, executed without gem5."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import needs
import pytest

from apuflow.configure import load_sweep, load_workload
from apuflow.configure.kernel_workload import KernelsWork, KernelsWorkload
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.kernels.interpreted import interpret_program
from apuflow.kernels.metadata import Kernel, read_kernels
from apuflow.kernels.sources import compiled, own_object, source_identity, triton_compiler
from apuflow.kernels.triton_file import functions, needed, parsed
from apuflow.launcher.defects import DefectName
from apuflow.plan.points import points

KERNELS = """\
import a_module_that_nobody_has
import triton
import triton.language as tl
from helpers import scaled

DEVICE = a_module_that_nobody_has.device()
row = DEVICE.empty(1)
FACTOR = tl.constexpr(2)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr, POWER: tl.constexpr = FACTOR):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + c, mask=c < columns, other=-float("inf")).to(tl.float32)
    e = scaled(tl.exp(v - tl.max(v, axis=0)), FACTOR)
    tl.store(out + row * stride + c, (e / tl.sum(e, axis=0)).to(out.dtype.element_ty), mask=c < columns)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, i.to(tl.float32) * tl.num_programs(0), mask=i < n)


@triton.jit
def ptx(x):
    tl.inline_asm_elementwise("cvt.rn.f16.f32 $0, $1;", "=r,r", [1], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def cuda(x):
    tl.store(x, tl.extra.cuda.smid())


@triton.jit
def wrong(x, n):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.dot(i, n))


@triton.jit
def eight(x, out):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(x + at).to(tl.float8e4b8)
    tl.store(out + at, tl.dot(a, a))


@triton.jit
def error_function(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.erf(tl.load(x + i)))


def plain(x):
    return x


if __name__ == "__main__":
    softmax[(1,)](DEVICE, 1)
"""
HELPERS = """\
import triton


@triton.jit
def scaled(value, factor):
    return value * factor
"""
REFERENCE = """\
import numpy as np


def expected(buffers, parameters):
    x = buffers["x"].astype(float).reshape(parameters["rows"], -1)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": e / e.sum(axis=1, keepdims=True)}
"""
WORKLOAD = """\
description: softmax of rows
kind: kernels
source: kernels/mine.py
parameters: {type: float, rows: 3, columns: 100, block: 128, warps: 2}
buffers:
  x: {type: type, elements: rows * columns, contents: {uniform: 1}}
  out: {type: type, elements: rows * columns, contents: touch}
launches:
  - kernel: softmax
    grid: [rows]
    arguments: [x, out, columns, columns]
    constexprs: {BLOCK: block}
    num_warps: warps
outputs: [out]
reference: kernels/mine_reference.py
"""
SDWA: tuple[DefectName, ...] = ("refused_sdwa",)
LAUNCH = WORKLOAD[WORKLOAD.index("  - kernel") : WORKLOAD.index("outputs")]


@pytest.fixture
def place(root: Path) -> Path:
    """A project with these kernels."""
    functions.cache_clear()
    source_identity.cache_clear()
    files = {"mine.py": KERNELS, "helpers.py": HELPERS, "mine_reference.py": REFERENCE}
    for name, text in files.items():
        (root / "configs/workloads/kernels" / name).write_text(text)
    return root


@pytest.fixture
def triton() -> None:
    """Triton, which is on this machine."""
    try:
        triton_compiler()
    except ApuflowError:
        needs.TRITON.skip()


def work(root: Path, text: str = WORKLOAD, **layer: int | str) -> KernelsWork:
    (root / "configs/workloads/mine.yaml").write_text(text)
    workload = load_workload("mine", root)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    found = workload.work(layer, errors.append)
    if found is None:
        raise errors[0]
    return found


def run(root: Path, given: KernelsWork, gfx: str) -> tuple[Kernel, Mapping[str, float]]:
    """The kernel of a point's one launch, and its results' errors in the interpreter."""
    program = given.program(4, gfx)
    (code,) = program.codes
    path = compiled(str(code.source), code.arguments, gfx, root)
    try:
        kernels = {code: read_kernels(path)}
        return kernels[code][0], interpret_program(program, kernels, {code: path}, gfx)[1]
    finally:
        shutil.rmtree(path.parent)


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(
    ("gfx", "kind", "allowed"),
    [("gfx90a", "float", 1e-6), ("gfx942", "half", 2**-10), ("gfx942", "bfloat16", 2**-7)],
)
def test_a_softmax_computes_what_numpy_does(place: Path, gfx: str, kind: str, allowed: float) -> None:
    """A file that imports what nobody has, and another file beside it; two wavefronts exchange by LDS."""
    kernel, errors = run(place, work(place, type=kind), gfx)
    assert errors["out"] <= allowed
    assert [each.name for each in kernel.given] == ["x", "out", "columns", "stride"]
    assert kernel.largest_workgroup == 128 and kernel.lds_bytes > 0
    assert [each.kind for each in kernel.parameters[4:]] == ["hidden_none"] * 2


def test_the_launch_of_a_file(place: Path) -> None:
    """3 programs of 2 wavefronts of 64; other warps are another code object, other rows are not."""
    works = work(place), work(place, warps=4), work(place, rows=5)
    launches = [each.program(4, "gfx90a").launches[0] for each in works]
    assert [(launch.grid[0], launch.workgroup[0]) for launch in launches] == [
        (384, 128),
        (768, 256),
        (640, 128),
    ]
    assert launches[0].code == launches[2].code != launches[1].code
    assert (
        '"signature":{"x":"*fp32","out":"*fp32","columns":"i32","stride":"i32"}' in launches[0].code.arguments
    )


def changed(old: str, new: str) -> str:
    assert old in WORKLOAD
    return WORKLOAD.replace(old, new)


def other(kernel: str, arguments: str, more: str = "") -> str:
    launch = f"  - {{kernel: {kernel}, grid: [1], arguments: [{arguments}]{more}}}\n"
    return WORKLOAD.replace(LAUNCH, launch)


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (
            changed("kernel: softmax", "kernel: soft"),
            "launches.0.kernel",
            "no such function[\\s\\S]*softmax, tuned",
        ),
        (changed("kernel: softmax", "kernel: plain"), "launches.0.kernel", "has no @triton.jit"),
        (changed("{BLOCK: block}", "{}"), "launches.0.constexprs", "has no value[\\s\\S]*'?BLOCK"),
        (
            changed("BLOCK: block", "BLOCK: block, SIZE: 1"),
            "launches.0.constexprs",
            "no such parameter[\\s\\S]*SIZE",
        ),
        (changed("BLOCK: block", "BLOCK: blok"), "launches.0.constexprs.BLOCK", "unknown name blok"),
        (changed("out, columns, columns", "out, columns"), "launches.0.arguments", "takes 4 arguments"),
        (changed("warps: 2}", "warps: 3}"), "launches.0.num_warps", "1, 2, 4, 8 or 16"),
        (
            changed("grid: [rows]", "grid: [rows]\n    workgroup: [64]"),
            "launches.0.workgroup",
            "64 \\* num_warps",
        ),
        (changed("grid: [rows]", "grid: [rows]\n    lds: 64"), "launches.0.lds", "Triton decides it"),
        (
            changed("[rows]", "[rows]\n    divisible_by_16: [columns]"),
            "launches.0.divisible_by_16",
            "columns is 100",
        ),
        (
            changed("[x, out", "[{buffer: x, offset: 2}, out").replace(
                "[rows]", "[rows]\n    divisible_by_16: [x]"
            ),
            "launches.0.divisible_by_16",
            "x is 8 bytes into its buffer",
        ),
        (
            changed("[rows]", "[rows]\n    divisible_by_16: [y]"),
            "launches.0.divisible_by_16",
            "no such parameter",
        ),
        (
            changed("out, columns, columns", "out, columns, {half: 1}"),
            "launches.0.arguments.3",
            "not an argument",
        ),
        (other("tuned", "x, 64"), "launches.0.constexprs", "autotune[\\s\\S]*num_warps, BLOCK"),
        (other("tuned", "x, 64", ", constexprs: {BLOCK: 64}"), "launches.0.constexprs", "autotune"),
        (other("ptx", "x"), "launches.0.kernel", "NVIDIA's GPUs: PTX instructions \\(line 29\\)"),
        (other("cuda", "x"), "launches.0.kernel", r"NVIDIA's GPUs: tl.extra.cuda.smid \(line 34\)"),
        (
            changed("{type: type, elements: rows * columns, contents: touch}", "{type: fp8, elements: 1}"),
            "type",
            "fp8",
        ),
        (changed("kernels/mine.py", "kernels/none.py"), "source", "cannot read the kernels' source"),
        (WORKLOAD.replace("kernels/mine.py", "kernels/square.hip"), "launches.0.workgroup", "work-items"),
    ],
)
def test_mistakes_are_named_before_anything_is_compiled(place: Path, text: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        work(place, text)
    assert str(caught.value.key).endswith(key) and caught.value.remedy
    file = Path(str(caught.value.file)).name.partition(":")[0]
    assert file in ("mine.yaml", "mine.py", "none.py")


def test_types_as_parameters(place: Path) -> None:
    assert [each.type for each in work(place, type="bfloat16").buffers()] == ["bfloat16"] * 2
    with pytest.raises(ConfigError, match=r"not a type of elements[\s\S]*key: +layer.type"):
        work(place, type="fp8")
    with pytest.raises(ConfigError, match="not a whole number"):
        work(place, rows="half")
    with pytest.raises(ConfigError, match="unknown name type"):
        work(place, changed("grid: [rows]", "grid: [type]"))


@pytest.mark.usefixtures("triton")
def test_an_autotuned_kernel_runs_once_its_choice_is_made(place: Path) -> None:
    """Also without its other programs: num_programs is a hidden argument."""
    text = other("tuned", "out, rows * columns", ", constexprs: {BLOCK: 512}, num_warps: 1")
    reference = 'import numpy as np\ndef expected(buffers, parameters):\n    return {"out": np.arange(300)}\n'
    (place / "configs/workloads/kernels/mine_reference.py").write_text(reference)
    assert run(place, work(place, text), "gfx90a")[1] == {"out": 0}


@pytest.mark.usefixtures("triton")
def test_a_mistake_of_the_kernel_is_shown_with_its_line(place: Path) -> None:
    given = work(place, other("wrong", "out, 4"))
    line = KERNELS.splitlines().index("    tl.store(x + i, tl.dot(i, n))") + 1
    with pytest.raises(ApuflowError, match=rf"mine.py:{line}:\d+: error: [\s\S]*tl.dot\(i, n\)"):
        run(place, given, "gfx90a")


@pytest.mark.usefixtures("triton")
def test_products_of_8_bits_are_refused_for_a_gem5(place: Path) -> None:
    (code,) = (
        work(place, other("eight", "x, out").replace("columns: 100", "columns: 1024"))
        .program(1, "gfx942")
        .codes
    )
    with pytest.raises(
        ApuflowError, match=r"v_mfma_f32_\S*fp8\S*: gem5 executes no matrix instruction of fp8"
    ):
        compiled(str(code.source), code.arguments, "gfx942", place, SDWA)


def test_no_triton_and_gpus_that_it_does_not_know(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = work(place).program(1, "gfx902").codes
    make = partial(own_object, str(code.source), code.arguments, "mine", root=place)
    with pytest.raises(
        ConfigError, match=r"does not compile for this GPU[\s\S]*gfx906, gfx908, gfx90a, gfx942"
    ):
        make("gfx902")
    monkeypatch.setattr("apuflow.kernels.sources.version", lambda name: "3.5.1")
    with pytest.raises(ApuflowError, match=r"only Triton 3\.9"):
        make("gfx90a")

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("apuflow.kernels.sources.version", absent)
    with pytest.raises(ApuflowError, match=r"not installed[\s\S]*pip install apuflow\[triton\]"):
        make("gfx90a")


def test_an_object_is_another_for_another_gem5_and_for_what_its_source_imports(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apuflow.kernels.sources.version", lambda name: "3.9.0")

    def name(gfx: str = "gfx90a", defects: tuple[DefectName, ...] = ()) -> str:
        source_identity.cache_clear()
        code = work(place).program(1, gfx).launches[0].code
        return own_object(str(code.source), code.arguments, "mine", gfx, place, defects).name

    names = {name(), name("gfx942"), name("gfx90a", SDWA)}
    (place / "configs/workloads/kernels/helpers.py").write_text(HELPERS.replace("value *", "value +"))
    assert len(names | {name()}) == 4 and name() == name()


def test_what_a_kernel_needs_of_its_file(place: Path) -> None:
    tree = parsed(place / "configs/workloads/kernels/mine.py")
    lines = [statement.lineno for statement in needed(tree, "softmax")]
    wanted = (
        "import triton",
        "import triton.language as tl",
        "from helpers import scaled",
        "FACTOR",
        "@triton.jit",
    )
    texts = KERNELS.splitlines()
    assert [
        texts[line - 1].startswith(start) or texts[line - 2].startswith(start)
        for line, start in zip(lines, wanted, strict=True)
    ] == [True] * 5


@pytest.mark.usefixtures("triton")
def test_features_are_left_out_of_library_functions_too(place: Path) -> None:
    """erf lies in ROCm's library; with other features than the kernel's it would not be inlined."""
    (code,) = work(place, other("error_function", "out")).program(1, "gfx942").codes
    path = compiled(str(code.source), code.arguments, "gfx942", place, SDWA)
    try:
        assert b"__ocml_erf" not in path.read_bytes()
    finally:
        shutil.rmtree(path.parent)


def test_a_sweep_names_a_gpu_that_a_compiler_does_not_know(root: Path) -> None:
    """Before anything is compiled, with the place that names the GPU."""
    text = "description: x\nengines: [gem5-kernels]\nrelease: v23.0\nworkloads: [triton_softmax]\n"
    (root / "configs/sweeps/mine.yaml").write_text(f"{text}machine: apu-gfx801\n")
    with pytest.raises(ConfigError, match="Triton does not compile for this GPU") as caught:
        points(load_sweep("mine", root), "triton_softmax", root)
    assert caught.value.key == "gfx-version" and caught.value.value == "gfx801"
    assert "configs/machines/apu-gfx801.yaml" in str(caught.value.file)
