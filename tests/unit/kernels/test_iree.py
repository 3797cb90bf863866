"""Models as a source of kernels: compiled by IREE, executed without gem5, or refused by name."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import needs
import numpy as np
import pandas as pd
import pytest
from places import DATA, ROOT
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_sweep, load_workload
from apuflow.configure.kernel_workload import KernelsWork, KernelsWorkload
from apuflow.configure.loading import load_release
from apuflow.core.errors import ConfigError
from apuflow.kernels.interpreted import Interpreted, interpret_program
from apuflow.kernels.iree_compiler import check_iree, complaint
from apuflow.kernels.iree_process import used_registers
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.program import OwnProgram, initial_value
from apuflow.kernels.reference import expected_outputs, tolerance
from apuflow.kernels.sources import compiled_meanwhile, source_identity
from apuflow.launcher.object_changes import as_told
from apuflow.plan.points import points
from apuflow.workloads.iree_models import import_model

TWO = """\
func.func @two(%x: tensor<16x8xf32>, %n: tensor<8xi32>) -> (tensor<16x8xf32>, tensor<8xi32>) {
  %c = arith.constant dense<[1.0, -2.5, 3.0, 0.25, 5.0, 6.0, -7.0, 8.0]> : tensor<8xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  %b = linalg.broadcast ins(%c : tensor<8xf32>) outs(%e : tensor<16x8xf32>) dimensions = [0]
  %y = arith.mulf %x, %b : tensor<16x8xf32>
  %m = arith.addi %n, %n : tensor<8xi32>
  return %y, %m : tensor<16x8xf32>, tensor<8xi32>
}
"""
ONE = """\
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""
SEVERAL = ONE + ONE.replace("@other", "@third").replace("addf", "mulf")
DYNAMIC = ONE.replace("tensor<8xf32>", "tensor<?xf32>")
WORKLOAD = "description: a model\nkind: kernels\nsource: m/{file}\n"
PRECISE = 1e-6


@pytest.fixture
def iree() -> None:
    """IREE, which is on this machine."""
    try:
        check_iree()
    except ConfigError:
        needs.IREE.skip()
    needs.LATER_CLANG.required_program()


def onnx() -> None:
    """The package of that name, which is on this machine."""
    try:
        importlib.metadata.version("onnx")
    except importlib.metadata.PackageNotFoundError:
        needs.NETWORKS.skip()


def work(root: Path, file: str, model: str | None = None, more: str = "") -> KernelsWork:
    """A model's point; the model is one of ``tests/data/iree`` where no text is given."""
    source_identity.cache_clear()
    place = root / "configs/workloads/m" / file
    place.parent.mkdir(exist_ok=True)
    if model is not None:
        place.write_text(model)
    elif not place.exists():
        shutil.copyfile(DATA / "iree" / file, place)
    (root / "configs/workloads/mine.yaml").write_text(WORKLOAD.format(file=file) + more)
    workload = load_workload("mine", root)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    found = workload.work({}, errors.append)
    if found is None:
        raise errors[0]
    return found


def without_preload(data: bytes, gfx: str) -> bytes:
    """What gem5 is given, for this GPU: instructions at the entries load the arguments."""
    told, flags = as_told(data, gfx), slice(48, 52)  # e_flags of the ELF header
    return told[: flags.start] + data[flags] + told[flags.stop :]


def executed(
    program: OwnProgram, root: Path, gfx: str, release: str | None
) -> tuple[Interpreted, Mapping[str, float]]:
    """A program in the interpreter; its code is what is made for a release, or as IREE writes it."""
    defects = load_release(release, ROOT).instruction_defects(gfx) if release else ()
    with ExitStack() as stack:
        codes = {
            code: stack.enter_context(compiled_meanwhile(code.source, code.arguments, gfx, root, defects))
            for code in program.codes
        }
        kernels = {code: read_kernels(path) for code, path in codes.items()}
        for path in codes.values() if release else ():
            path.write_bytes(without_preload(path.read_bytes(), gfx))
        return interpret_program(program, kernels, codes, gfx)


@pytest.mark.usefixtures("iree")
def test_a_model_with_a_constant_and_two_types_of_results(root: Path) -> None:
    """Both results lie in one buffer of IREE's; NumPy says what they are, and a reference may be NumPy's."""
    values = [float(number) for number in range(-64, 64)]
    more = f"inputs: {{input0: {{values: {values}}}, input1: {{values: [1, 2, 3, 4, 5, 6, 7, -8]}}}}\n"
    given = work(root, "two.mlir", TWO, more)
    program = given.program(4, "gfx942")
    row = np.array([1, -2.5, 3, 0.25, 5, 6, -7, 8])
    wanted = expected_outputs(program)
    np.testing.assert_array_equal(wanted["output0"], (np.arange(-64, 64).reshape(16, 8) * row).ravel())
    np.testing.assert_array_equal(wanted["output1"], [2, 4, 6, 8, 10, 12, 14, -16])
    assert executed(program, root, "gfx942", "v24.1")[1] == {"output0": 0, "output1": 0}

    reference = (
        "import numpy as np\n"
        "def expected(buffers, parameters):\n"
        f"    row = np.array({row.tolist()})\n"
        "    y = buffers['input0'].reshape(16, 8) * row\n"
        "    return {'output0': y, 'output1': 2 * buffers['input1'] + 1}\n"
    )
    (root / "configs/workloads/m/reference.py").write_text(reference)
    program = work(root, "two.mlir", None, f"{more}reference: m/reference.py\n").program(4, "gfx942")
    errors = executed(program, root, "gfx942", None)[1]
    assert errors["output0"] == 0 and errors["output1"] > 0


@pytest.mark.usefixtures("iree")
@pytest.mark.parametrize(
    ("file", "gfx"),
    [
        ("softmax.mlir", "gfx90a"),
        ("attention.mlir", "gfx942"),
        ("mlp_softmax.onnx", "gfx942"),
    ],
)
def test_as_many_instructions_run_as_on_gem5(root: Path, file: str, gfx: str) -> None:
    """Those of recorded runs of gem5 v24.1; the code is the one that is made for this gem5."""
    if file.endswith(".onnx"):
        onnx()
    rows = pd.read_csv(DATA / "iree_gem5.csv")
    (gem5,) = rows[(rows["workload"] == file) & (rows["gfx_version"] == gfx)].to_dict("records")
    program = work(root, file).program(4, gfx)
    done, errors = executed(program, root, gfx, "v24.1")
    assert sum(each.total for each in done.executed) == gem5["instructions"]
    for name, error in errors.items():
        allowed = tolerance(program, program.output(name))
        assert error <= allowed and gem5["max_relative_error"] <= allowed


@pytest.mark.usefixtures("iree")
def test_the_reference_is_what_numpy_computes(root: Path) -> None:
    """A layer of an MLP from its definition, with numbers that the file gives."""
    program = work(root, "mlp.mlir").program(4, "gfx942")
    x, w1, b1, w2, b2 = (
        initial_value(program.buffer(f"input{number}")).astype(float).reshape(sizes)
        for number, sizes in enumerate(((32, 64), (64, 128), (128,), (128, 10), (10,)))
    )
    y = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    (found,) = expected_outputs(program).values()
    assert np.abs(np.reshape(found, y.shape) - y).max() < PRECISE * np.abs(y).max()


@pytest.mark.usefixtures("iree")
def test_an_onnx_file_becomes_a_workload(root: Path, tmp_path: Path) -> None:
    """From the file to its kernels' results; weights lie in a file beside, as large models have them."""
    onnx()
    from onnx import TensorProto, helper, numpy_helper, save

    weights = np.arange(32 * 16, dtype=np.float32).reshape(32, 16) / 512
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["y"], axis=-1)],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 16])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    files = import_model(tmp_path / "net.onnx", "net", root)
    assert [file.relative_to(root / "configs").as_posix() for file in files] == [
        *("workloads/net.yaml", "workloads/net/net.onnx", "workloads/net/net.data", "sweeps/net.yaml")
    ]
    workload = load_workload("net", root)
    found = workload.work({}, lambda error: pytest.fail(str(error)))
    assert isinstance(found, KernelsWork)
    program = found.program(4, "gfx942")
    x = initial_value(program.buffer("input0")).astype(float).reshape(8, 32)
    e = np.exp(x @ weights)
    np.testing.assert_allclose(
        np.asarray(expected_outputs(program)["output0"], float).reshape(8, 16),
        e / e.sum(1, keepdims=True),
        1e-5,
    )


@pytest.mark.usefixtures("iree")
def test_the_command_writes_a_workload_and_a_sweep(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    (root / "m.mlir").write_text(SEVERAL)
    words = ["new", "workload", "mine", "--from", "m.mlir"]
    assert isinstance(CliRunner().invoke(build_app(), words).exception, ConfigError)
    assert not (root / "configs/workloads/mine.yaml").exists()
    done = CliRunner().invoke(build_app(), [*words, "--entry", "third"])
    assert "next: snakemake --cores 2 results/mine/mine.csv" in done.output
    assert "input0: {uniform: 0}            # 8xf32" in (root / "configs/workloads/mine.yaml").read_text()
    (point,) = points(load_sweep("mine", root), "mine", root)
    assert point.gfx == "gfx942" and isinstance(point.work, KernelsWork)
    assert [launch.kernel for launch in point.work.program(4, point.gfx).launches] == [
        "third_dispatch_0_elementwise_8_f32"
    ]


@pytest.mark.usefixtures("iree")
def test_another_model_is_another_point(root: Path) -> None:
    one, other = work(root, "one.mlir", ONE), work(root, "one.mlir", ONE.replace("addf", "mulf"))
    assert one.text != other.text and '"compiler":"IREE 3.13.0"' in one.text
    assert work(root, "one.mlir", ONE).text == one.text


SCALAR = """\
func.func @f(%x: tensor<8xf32>, %n: f32) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %t = linalg.fill ins(%n : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = arith.addf %x, %t : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""
COPY = """\
func.func @f(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<12xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %z : tensor<12xf32>
}
"""


@pytest.mark.usefixtures("iree")
@pytest.mark.parametrize(
    ("model", "more", "key", "said"),
    [
        (DYNAMIC, "", "source", r"dynamic shapes[\s\S]*static shape"),
        (SCALAR, "", "source", "an argument of type f32"),
        (COPY, "", "source", r"hal\.command_buffer\.copy_buffer[\s\S]*copies nothing"),
        (ONE.replace("addf", "adf"), "", "source", "cannot compile the model: line 2: .*arith.adf"),
        (SEVERAL, "", "entry", r"several functions[\s\S]*one of other, third"),
        (ONE, "entry: none\n", "entry", r"no such function[\s\S]*one of other"),
        (ONE, "inputs: {input1: uniform}\n", "inputs", r"no such argument[\s\S]*input0"),
    ],
)
def test_models_that_cannot_be_run(root: Path, model: str, more: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        work(root, "one.mlir", model, more)
    assert caught.value.key == key and caught.value.remedy
    assert Path(str(caught.value.file)).name in ("one.mlir", "mine.yaml")


@pytest.mark.parametrize(
    ("more", "key", "said"),
    [
        ("buffers: {x: {type: float, elements: 4}}\n", "buffers", "IREE makes them"),
        ("outputs: [output0]\n", "outputs", "IREE makes them"),
        ("inputs: {input0: reference}\n", "reference", "a Python file"),
    ],
)
def test_keys_that_a_model_does_not_take(root: Path, more: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        work(root, "one.mlir", ONE, more)
    assert str(caught.value.key).endswith(key)


def test_a_launch_without_a_model_needs_its_keys(root: Path) -> None:
    path = root / "configs/workloads/mine.yaml"
    path.write_text("description: x\nkind: kernels\nsource: kernels/square.hip\nbuffers: {}\n")
    with pytest.raises(ConfigError, match=r"not set[\s\S]*launches"):
        load_workload("mine", root)
    path.write_text(f"{WORKLOAD.format(file='k.cl')}buffers: {{}}\nlaunches: []\ninputs: {{input0: zero}}\n")
    with pytest.raises(ConfigError, match=r"for models[\s\S]*inputs"):
        load_workload("mine", root)


def test_no_iree_another_release_and_gpus_that_it_does_not_know(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Found:
        version = "3.12.0"

    monkeypatch.setattr("apuflow.kernels.iree_compiler.distribution", lambda name: Found())
    with pytest.raises(ConfigError, match=r"only version 3\.13\.0"):
        work(root, "one.mlir", ONE.replace("other", "absent"))

    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("apuflow.kernels.iree_compiler.distribution", absent)
    with pytest.raises(ConfigError, match=r"IREE is not installed[\s\S]*pip install apuflow\[iree\]"):
        work(root, "one.mlir", ONE.replace("other", "absent"))


@pytest.mark.usefixtures("iree")
@pytest.mark.parametrize("gfx", ["gfx801", "gfx902", "gfx906"])
def test_a_gpu_that_iree_has_no_code_for_is_named(root: Path, gfx: str) -> None:
    with pytest.raises(ConfigError, match=r"does not compile for this GPU[\s\S]*gfx90a, gfx942") as caught:
        work(root, "one.mlir", ONE).program(4, gfx)
    assert caught.value.key == "gfx-version" and caught.value.value == gfx


def test_a_complaint_is_short_and_names_the_cause() -> None:
    text = (
        "m.mlir:5:8: error: failed to legalize operation 'stream.executable' that was ...\n"
        "  %h = linalg.matmul\n"
        "<unknown>:0: error: Unknown ROCM target 'gfx1'\n"
    )
    assert complaint(text) == "Unknown ROCM target 'gfx1'"
    assert complaint("m.mlir:7:3: error: no such op\n  %x\n") == "line 7: no such op"
    assert complaint("Traceback\nValueError: bad file\n") == "ValueError: bad file"


@pytest.mark.parametrize(("used", "asked"), [(91, 91), (257, 257), (300, 257)])
def test_registers_that_only_lds_made_llvm_ask_for(used: int, asked: int) -> None:
    """gem5 counts up to 256 of a kernel; the object says that it asks for fewer."""
    text = (
        "\t.amdhsa_kernel f$1\n\t\t.amdhsa_next_free_vgpr 257\n\t.end_amdhsa_kernel\n"
        "\t.amdhsa_kernel g\n\t\t.amdhsa_next_free_vgpr 129\n\t.end_amdhsa_kernel\n"
        "\t.amdgpu_metadata\n---\namdhsa.kernels:\n"
        f"  - {{.name: f$1, .vgpr_count: {used}}}\n  - {{.name: g, .vgpr_count: 20}}\n"
        "...\n\t.end_amdgpu_metadata\n"
    )
    made = used_registers(text)
    assert re.findall(r"next_free_vgpr (\d+)", made) == [str(asked), "129"]
    assert ("apuflow-changed: reserved_registers" in made) == (used < 257)
