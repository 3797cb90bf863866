"""HIP programs, built by clang and run with the interpreter as their GPU; each checks its own results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from needs import C_COMPILER, CLANG, HIP
from typer.testing import CliRunner

from apuflow.capture.build import Build
from apuflow.capture.device import Device
from apuflow.capture.hip import hip_library
from apuflow.capture.options import read_line
from apuflow.capture.selection import Choice
from apuflow.capture.server import run
from apuflow.capture.writer import write
from apuflow.cli import build_app
from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.gpus import gpu
from apuflow.interpret.native import library
from apuflow.kernels.interpreted import interpret_program
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.reference import expected_outputs
from apuflow.kernels.sources import HEADERS

SOURCE = Path(__file__).parents[2] / "data/hip/program.hip"
SOURCES = (str(SOURCE), str(SOURCE.with_name("variables.hip")))
GFX = "gfx90a"
ALL = Choice()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the program."""
    for need in (C_COMPILER, CLANG, HIP):
        need.required_program()
    place = tmp_path_factory.mktemp("project")
    (place / "configs/workloads").mkdir(parents=True)
    Build((GFX,), root=place).run(read_line([f"-I{HEADERS}", *SOURCES, "-o", str(place / "program")]))
    return place


def captured(
    root: Path, word: str, choice: Choice = ALL, *, gfx: str = GFX, status: int = 0, units: int = 4
) -> Device:
    device = Device(gpu(gfx), choice, units, library=library())
    assert run([str(root / "program"), word], device, [hip_library(root)], {}) == status
    device.settle()
    return device


def work_of(root: Path, name: str) -> KernelsWork:
    work = load_workload(name, root).work({}, lambda error: pytest.fail(str(error)))
    assert isinstance(work, KernelsWork)
    return work


def differences(work: KernelsWork, root: Path) -> tuple[dict[str, float], int]:
    """Of each output the difference from the reference; how many launches."""
    program = work.program(4, GFX)
    codes = {code: root / code.source for code in program.codes}
    kernels = {code: read_kernels(path) for code, path in codes.items()}
    done, errors = interpret_program(program, kernels, codes, GFX)
    return dict(errors), len(done.executed)


@pytest.mark.parametrize(
    ("word", "launches", "outputs"),
    [
        ("templates", 2, {"x": 300, "x_2": 300}),  # managed memory
        ("flag", 4, {"x": 64, "again": 1, "again_2": 1, "again_3": 1}),  # the fourth pass leaves it 0
        ("symbols", 3, {"x": 64}),
        ("streams", 2, {"x": 64}),
        ("pointers", 2, {"buffer3": 64}),  # behind the two of __managed__ variables
        ("shared", 2, {"sum": 1, "all": 64}),  # __managed__ variables
        ("variables", 3, {"buffer3": 64}),
        ("registered", 2, {"x": 64, "x_2": 64}),
    ],
)
def test_a_program_goes_on_with_what_its_kernels_computed(
    root: Path, word: str, launches: int, outputs: dict[str, int]
) -> None:
    device = captured(root, word)
    write(device.journal, f"all_{word}", root, "program")
    work = work_of(root, f"all_{word}")
    errors, ran = differences(work, root)
    assert errors == dict.fromkeys(outputs, 0.0)
    assert ran == launches
    sizes = {name: work.program(4, GFX).output(name).elements for name in outputs}
    if word != "streams":  # rows of 128 bytes are 256 apart, or not: the runtime chooses
        assert sizes == outputs


def test_the_reference_is_the_memory_after_the_last_launch(root: Path) -> None:
    device = captured(root, "flag")
    write(device.journal, "flag", root, "program")
    expected = expected_outputs(work_of(root, "flag").program(4, GFX))
    assert expected["x"].tolist() == [16 * (i + 1) for i in range(64)]
    assert [expected[name].item() for name in ("again", "again_2", "again_3")] == [1, 1, 1]


def test_types_and_names_are_those_of_the_source(root: Path) -> None:
    device = captured(root, "templates")
    write(device.journal, "typed", root, "program")
    program = work_of(root, "typed").program(4, GFX)
    arguments = [each for each in program.buffers if each.name.startswith("x")]  # without managed variables
    assert [(each.name, each.type) for each in arguments] == [("x", "float"), ("x_2", "double")]
    assert [each.value for each in program.launches[0].arguments] == ["x", 3.0, 300]


def test_the_program_is_told_of_the_chosen_gpu(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    captured(root, "queries", units=6)
    assert capfd.readouterr().out == "gfx90a 64 6 1024 65536\n"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("graph", ["hipGraphCreate", "launch the kernels one by one"]),
        ("printf", ["printf", "leave it out of the kernel"]),
        ("crash", ["SIGSEGV, after 2 launches"]),
        ("bounds", ["byte 1,200 of allocation 3, which has 1,200 bytes", "launch 1", "argument 1", "values"]),
        ("freed", ["byte 0 of allocation 3, which was freed", "launch 1"]),
        ("host", ["are in no buffer", "memory of the host is not the GPU's"]),
        ("null", ["4 bytes at 0x0, a null pointer"]),
        ("many", ["have run when", "of 1,000,000 workgroups have begun", "launch a smaller grid"]),
        ("nothing", ["launched no kernel"]),
        ("large", ["a workgroup has 2048 work-items, the kernel takes at most 1024"]),
    ],
)
def test_what_cannot_be_is_said(root: Path, word: str, said: list[str]) -> None:
    with pytest.raises(ApuflowError) as raised:
        write(captured(root, word, Choice(limit=2_000_000)).journal, "never", root, "program")
    for text in said:
        assert text in str(raised.value)
    assert not (root / "configs/workloads/never.yaml").exists()


def test_an_access_outside_of_memory_names_its_line(root: Path) -> None:
    if CLANG.program() is None:
        CLANG.skip()
    line = next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if "values[i + n]" in text)
    with pytest.raises(EngineError, match=rf"program\.hip, line {line}\b"):
        captured(root, "bounds")


def test_a_program_that_fails_keeps_its_exit_status(root: Path) -> None:
    captured(root, "fails", status=7)


def test_a_program_for_another_gpu(root: Path) -> None:
    with pytest.raises(EngineError, match="no code for this GPU") as raised:
        captured(root, "templates", gfx="gfx942")
    assert raised.value.remedy == "its code is for gfx90a: build it for gfx942"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gfx", "gfx942"], ["no code for this GPU", "its code is for gfx90a: build it for gfx942"]),
        (["--kernel", "scale("], ["not a regular expression", "--kernel"]),
    ],
)
def test_a_wrong_option_is_said_before_the_program_runs(
    root: Path, options: list[str], said: list[str]
) -> None:
    done = CliRunner().invoke(
        build_app(), ["capture", "x", *options, "--", str(root / "program"), "templates"]
    )
    assert all(text in str(done.exception) for text in said)


def test_a_program_that_is_not_there(root: Path) -> None:
    with pytest.raises(EngineError, match="does not start: No such file"):
        run([str(root / "none")], Device(gpu(GFX)), [hip_library(root)], {})


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        (Choice(first=2), [(1, 1), (2, 1)]),
        (Choice(every=3), [(1, 1), (2, 2), (4, 1)]),
        (Choice(pattern="gr.w"), [(1, 1), (2, 1), (3, 1), (4, 1)]),
        (Choice(pattern="scale"), []),
    ],
)
def test_some_launches_are_recorded(root: Path, choice: Choice, kept: list[tuple[int, int]]) -> None:
    """Number among the program's launches, and how many each stands for."""
    journal = captured(root, "flag", choice).journal
    assert [(each.number, each.launches) for each in journal.launches] == kept


def test_a_launch_after_one_that_is_not_recorded_finds_what_that_has_left(root: Path) -> None:
    device = captured(root, "flag", Choice(every=3))
    write(device.journal, "some", root, "program")
    program = work_of(root, "some").program(4, GFX)
    expected = expected_outputs(program)
    assert expected["x"].tolist() == [4 * (i + 1) for i in range(64)]  # after the second launch
    assert expected["x_2"].tolist() == [16 * (i + 1) for i in range(64)]
    assert set(differences(work_of(root, "some"), root)[0].values()) == {0.0}


def test_equal_launches_are_folded(root: Path) -> None:
    device = captured(root, "symbols", Choice(fold=True))
    write(device.journal, "folded", root, "program")
    with (root / "configs/workloads/folded/weights.csv").open(newline="") as file:
        cold, warm = csv.DictReader(file)
    assert (cold["launches"], warm["launch"], warm["launches"]) == ("1", "2", "2")
    assert 3 * int(warm["instructions"]) == device.journal.instructions
    assert [launch.weight for launch in work_of(root, "folded").program(4, GFX).launches] == [1, 2]


def test_nothing_is_executed(root: Path) -> None:
    device = captured(root, "templates", Choice(execute=False), status=3)  # its own check fails
    assert (len(device.journal.launches), device.journal.instructions) == (2, 0)
    write(device.journal, "native", root, "program")
    program = work_of(root, "native").program(4, GFX)
    assert (program.outputs, len(program.launches)) == ((), 2)


def test_printf_does_not_compile(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "tells.hip"
    source.write_text(
        '#include <hip/hip_runtime.h>\n__global__ void tell() { printf("%d", 1); }\nint main() {}\n'
    )
    line = read_line([f"-I{HEADERS}", str(source), "-o", str(tmp_path / "out")])  # ours, not Debian's
    with pytest.raises(EngineError, match="there is no printf on the GPU"):
        Build((GFX,), root=root).run(line)
