"""What an answer says of itself: what is assumed, why it guesses, what a suite's total lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import apuflow
from apuflow.ask.assumed import assumed, one_image
from apuflow.ask.question import answered, described, question
from apuflow.ask.settle import beside, compared
from apuflow.cli import build_app
from apuflow.configure import load_sweep
from apuflow.core.errors import ConfigError
from apuflow.miopen.compiler import Compiler
from apuflow.plan.points import points


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), list(arguments))
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


def test_a_batch_is_one_image_unless_asked(root: Path) -> None:
    """DNNMark's softmax has 100 images, the suite resnet18 32, a kernel of one's own has no batch."""
    assert one_image(described("softmax_fwd,resnet18", []))["layer"] == {"n": 1}
    assert one_image(described("softmax_fwd", ["n=4"]))["layer"] == {"n": 4}
    mixed = one_image(described("softmax_fwd,own_square", []))
    assert "layer" not in mixed and mixed["per_workload"] == {"softmax_fwd": {"layer": {"n": 1}}}
    table = apuflow.evaluate("softmax_fwd", root=root)
    alone = apuflow.evaluate("softmax_fwd", layer={"n": 1}, root=root)
    assert list(table["gpu_cycles"]) == list(alone["gpu_cycles"])


def test_what_is_assumed_is_told_and_what_is_asked_is_not() -> None:
    sweep = question(one_image(described("softmax_fwd", ["c=500"])))
    told = assumed(sweep, {"c"}, units=4)
    assert told.startswith("one image (n=1); softmax_fwd h=1 w=1") and "c=500" not in told
    assert told.endswith("machine apu-gfx801; 4 compute units; gem5 v23.0; engine preview")
    network = question(one_image(described("resnet18", ["machine=dgpu-gfx803"])))
    told = assumed(network, {"machine"}, units=None)
    assert "images of 3x224x224, an iteration of training" in told and "machine" not in told


def test_a_guess_has_its_reason() -> None:
    """No recorded run has a softmax of 4 wavefronts."""
    told = run("ask", "softmax_fwd")
    assert "guess: softmax_fwd, 1 of 1 row: outside of what the preview was measured on: " in told
    assert "wavefronts of SoftmaxForward (measured 12 to" in told


def test_the_answer_on_a_kernel_of_ones_own_names_the_check_of_its_result(clang: Compiler) -> None:
    told = run("ask", "own_vector_add", "n=1024", "machine=apu-gfx902", "release=v24.1")
    command = "apuflow check-kernels own_vector_add --gfx gfx902 --run"
    assert f"own_vector_add: results are not compared here, but by {command}" in told
    told = run("ask", "softmax_fwd", "gfx-version=gfx902", "release=v24.1")
    assert "the rest of machine apu-gfx801" in told and "check-kernels" not in told


def test_patterns_name_workloads_and_suites_alike() -> None:
    table = apuflow.evaluate(["softmax_*", "squeezenet*"], {"num-compute-units": 4})
    assert set(table["workload"]) == {"softmax_fwd", "softmax_bwd", "squeezenet1_1"}
    with pytest.raises(ConfigError, match="did you mean resnet18"):
        apuflow.evaluate("resnet19")


@pytest.fixture
def two(root: Path) -> Path:
    """A list of two operations, of which the preview refuses LRN over 3 channels, whose window is 5."""
    (root / "configs/suites/two.csv").write_text(
        "operation,op,phase,repeats,flop,name\n"
        "Softmax fwd n=100 c=1000 h=1 w=1 softmax_algo=accurate softmax_mode=channel,"
        "softmax,forward,2,3000000,wide\n"
        "LRN fwd n=1 c=3 h=32 w=32 lrn_mode=cross_channel_dim1 local_size=5,lrn,forward,1,1000000,narrow\n"
    )
    (root / "configs/suites/two.yaml").write_text(
        "description: two operations\nkind: operations\ntable: two\nsource: this test\n"
    )
    return root


def test_an_operation_that_the_preview_refuses_is_listed_with_its_share(two: Path) -> None:
    """1 of 4 million operations; the total is twice the softmax alone, and so are the interval's ends."""
    told = run("ask", "two")
    assert (
        "not in the total of two: 1 of 2 steps, 25.00% of its floating-point operations: 1 x lrn forward: "
        "preview: the preview does not model LRN over fewer channels than its window (c: 3)" in told
    )
    table = apuflow.evaluate("two", root=two)
    alone = apuflow.evaluate("softmax_fwd", layer={"n": 100}, root=two)
    for column in ("gpu_cycles", "gpu_cycles_low", "gpu_cycles_high"):
        assert table[column].item() == pytest.approx(2 * alone[column].item(), rel=1e-3)
    (two / "configs/sweeps/t.yaml").write_text("description: x\nengines: [preview]\nsuites: [two]\n")
    with pytest.raises(ConfigError, match="fewer channels"):
        points(load_sweep("t", two), "operations", two)


def test_gem5_settles_a_question_that_the_preview_answers_in_part(two: Path) -> None:
    """The command is ready to paste; its sweep leaves the preview out, which refuses an operation."""
    assert "apuflow ask two num-compute-units=4,8 --judge two-gem5 --run" in run(
        "ask", "two", "num-compute-units=4,8"
    )
    told = run("ask", "two", "num-compute-units=4,8", "--judge", "two-gem5")
    assert "snakemake --cores all results/two-gem5/report.html, then this command again" in told
    kept = yaml.safe_load((two / "configs/sweeps/two-gem5.yaml").read_text())
    assert kept["engines"] == ["gem5-kernels"] and kept["axes"] == {"num-compute-units": [4, 8]}
    assert len(points(load_sweep("two-gem5", two), "operations", two)) == 4
    assert "two-gem5-2" in run("ask", "two")
    with pytest.raises(ConfigError, match="there already"):
        run("ask", "two", "num-compute-units=4", "--judge", "two-gem5")
    with pytest.raises(ConfigError, match="--judge NAME --run"):
        run("ask", "two", "--run")


def test_what_gem5_cannot_run_is_refused_before_a_sweep_is_written(root: Path) -> None:
    """gem5 v24.0 has no gfx801."""
    with pytest.raises(ConfigError, match="gem5-kernels cannot judge this") as caught:
        run("ask", "softmax_fwd", "release=v24.0", "--judge", "new")
    assert "gfx801" in str(caught.value)
    assert not (root / "configs/sweeps/new.yaml").exists()


def test_gem5_numbers_stand_beside_the_preview_and_its_interval() -> None:
    """100 (90 to 110) against 80: 25 % more, outside; 100 against 105: 4.8 % less, inside."""
    frame = answered(question(one_image(described("softmax_fwd", ["num-compute-units=4,8"])))).frame
    frame["gpu_cycles"], frame["gpu_cycles_low"], frame["gpu_cycles_high"] = 100.0, 90.0, 110.0
    results = frame.assign(gpu_cycles=[80.0, 105.0], status="completed", engine="gem5-kernels")
    found = beside(frame, results, ["num_compute_units"])
    assert list(found["error"].round(3)) == [0.25, -0.048] and list(found["inside"]) == [False, True]
    first, second = compared(frame, results)
    assert first == (
        "gem5: softmax_fwd, num_compute_units 4: 80 cycles, preview 100 (+25.0%), outside of the interval"
    )
    assert second.endswith("105 cycles, preview 100 (-4.8%), inside the interval")


def test_a_search_of_a_network_sums_its_operations_on_each_machine(root: Path) -> None:
    """As evaluate does; the machine's cost counts once, and a space beyond the limit is drawn."""
    options = {"num-compute-units": [4, 16], "tcc-size": ["256kB", "1MB"]}
    layer = {"direction": "fwd"}
    cost = ["num_compute_units"]
    best = apuflow.search("squeezenet1_1", options, layer, cost=cost, within=0.5, root=root)
    table = apuflow.evaluate("squeezenet1_1", options, layer, root=root)
    keys = ["num_compute_units", "tcc_size"]
    assert dict(best.set_index(keys)["gpu_cycles"]) == dict(table.set_index(keys)["gpu_cycles"])
    near = table[table["gpu_cycles"] <= 1.5 * table["gpu_cycles"].min()]
    assert best["num_compute_units"].iloc[0] == near["num_compute_units"].min()
    assert best.attrs["answer"][0].startswith("cheapest within 50 % of the best: num_compute_units")
    few = apuflow.search("squeezenet1_1", options, layer, most=80, root=root)
    assert 0 < len(few) < len(best)


def test_a_search_of_a_network_is_kept_for_gem5_with_its_batch_and_direction(root: Path) -> None:
    told = run(
        *("search", "squeezenet1_1", "direction=fwd", "products=stand-in", "num-compute-units=4,8"),
        *("--cost", "num_compute_units", "--within", "10%", "--judge", "net", "--best", "1"),
    )
    assert "configs/sweeps/net.yaml: 1 point" in told
    kept = yaml.safe_load((root / "configs/sweeps/net.yaml").read_text())
    assert kept["suites"] == ["squeezenet1_1"] and "workloads" not in kept
    assert kept["layer"] == {"direction": "fwd", "n": 1} and kept["products"] == "stand-in"
    assert kept["engines"] == ["gem5-kernels", "preview"]


def test_a_search_needs_something_to_choose_from(root: Path) -> None:
    with pytest.raises(ConfigError, match="nothing varies"):
        run("search", "softmax_fwd")
    with pytest.raises(ConfigError, match="chooses the cheapest"):
        run("search", "softmax_fwd", "num-compute-units=4,8", "--within", "10%")
