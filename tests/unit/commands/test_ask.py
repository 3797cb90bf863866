"""``apuflow ask``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from apuflow import preview
from apuflow.cli import build_app
from apuflow.configure import load_sweep
from apuflow.configure.option_rules import defaults
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.plan.points import points


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def ask(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), ["ask", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.output


def test_the_answer_is_what_a_sweep_of_the_same_values_computes(root: Path) -> None:
    """And the question, kept, is that sweep."""
    ask("softmax_*", "num_compute_units=4,16", "n=10,20", "c=500", "--save", "kept", "--csv", "answer.csv")
    table = pd.read_csv("answer.csv")
    sweep = load_sweep("kept", root)
    assert sweep.release == preview.RELEASE and sweep.layer == {"c": 500}
    for workload in ("softmax_fwd", "softmax_bwd"):
        expected = points(sweep, workload, root)
        cycles = preview.run(expected, defaults(preview.RELEASE)).set_index("point")["gpu_cycles"]
        rows = table[table["workload"] == workload].set_index("point")
        assert sorted(rows.index) == sorted(cycles.index) and len(rows) == 4
        pd.testing.assert_series_equal(
            rows["gpu_cycles"].sort_index(), cycles.sort_index().round(), check_dtype=False
        )


def test_a_table_of_what_varies_is_printed() -> None:
    lines = ask("softmax_fwd", "num-compute-units=4,16", "machine=apu-gfx801,apu-gfx801-wide").splitlines()
    assert lines[0].split()[:3] == ["num_compute_units", "machine", "gpu_cycles"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["4", "apu-gfx801"],
        ["4", "apu-gfx801-wide"],
        ["16", "apu-gfx801"],
        ["16", "apu-gfx801-wide"],
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["softmax_fwd", "n"], "key=value"),
        (["softmax_fwd", "n="], "key=value"),
        (["softmax_fwd", "n=1", "layer.n=2"], "set twice"),
        (["softmax_fwd", "num-cus=4"], "did you mean"),
        (["softmax_fwd", "foo=4"], "keys that can be set"),
        (["conv_fwd", "batch=4"], "did you mean n? keys that can be set"),
        (["conv_fwd", "kernel=3"], "did you mean kernel_size?"),
        (["softmax_fwd", "cus=4"], "did you mean the option num-compute-units (compute units"),
        (["gemm", "cus=4"], "did you mean the option num-compute-units"),
        (["own_square", "cus=4"], "did you mean the option num-compute-units"),
        (["resnet18", "cus=4"], "did you mean the option num-compute-units"),
        (["sofmax_fwd"], "did you mean softmax_fwd"),
        (["convolution", "c=3"], "kind: operation, operation: convolution"),
        (["softmax_fwd", "tcc-size=300kB"], "256kB or 512kB"),
        (["softmax_fwd", "-c", "foo"], "no such column"),
        (["softmax_fwd", "--save", "quickstart"], "there already"),
        (["softmax_fwd", "--save", "../x"], "not a usable name"),
    ],
)
def test_a_question_with_a_mistake_is_refused_in_words(arguments: list[str], said: str) -> None:
    with pytest.raises(ApuflowError) as caught:
        ask(*arguments)
    assert said in str(caught.value)


def test_new_machines_and_workloads_can_be_asked_about(root: Path) -> None:
    """As they are written: a machine like none that is shipped, a workload equal to its model."""
    new = ["new", "machine", "big"], ["new", "workload", "mine", "--like", "lrn_fwd"]
    for arguments in new:
        assert CliRunner().invoke(build_app(), arguments).exit_code == 0
        assert isinstance(CliRunner().invoke(build_app(), arguments).exception, ConfigError)
    ask("mine,lrn_fwd", "machine=apu-gfx801,big", "--csv", "both.csv")
    table = pd.read_csv("both.csv")
    cycles = table.pivot(index="machine", columns="workload", values="gpu_cycles")
    assert list(cycles["mine"]) == list(cycles["lrn_fwd"])
    assert dict(zip(table["machine"], table["num_compute_units"], strict=True)) == {
        "apu-gfx801": 4,
        "big": 16,
    }
    assert "config: mine.dnnmark" in (root / "configs/workloads/mine.yaml").read_text()


def test_a_suite_is_asked_like_a_workload() -> None:
    """The one fully connected layer of a network, 256 to 10, is that layer asked alone."""
    ask("alexnet_64", "op=fc", "direction=fwd", "--csv", "suite.csv")
    ask("fc_fwd", "n=1", "c=256", "h=1", "w=1", "num_output=10", "--csv", "alone.csv")
    suite, alone = pd.read_csv("suite.csv"), pd.read_csv("alone.csv")
    assert suite["workload"].tolist() == ["alexnet_64"]
    assert suite["gpu_cycles"].tolist() == alone["gpu_cycles"].tolist()


def test_a_question_without_a_workload_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    error = CliRunner().invoke(build_app(), ["ask", " , ", "n=1"]).exception
    assert isinstance(error, ConfigError) and "no workload is named" in str(error)


def test_rows_outside_of_what_was_measured_carry_their_interval() -> None:
    """No recorded run has as many elements by far."""
    ask("activation_fwd", "num-compute-units=4", "n=1,1000", "--csv", "answer.csv")
    table = pd.read_csv("answer.csv")
    assert table["flags"].fillna("").str.contains("unmeasured: ").tolist()[-1]
    lines = ask("activation_fwd", "num-compute-units=4", "n=1,1000").splitlines()
    assert lines[0].split()[1:5] == ["gpu_cycles", "interval", "of", "cycles"]
    low, to, high, mark = lines[2].split()[2:6]
    assert mark == "(guess)"
    row = table.iloc[-1]
    assert to == "to" and float(low.replace(",", "")) == pytest.approx(row["gpu_cycles_low"], rel=0.01)
    assert float(high.replace(",", "")) == pytest.approx(row["gpu_cycles_high"], rel=0.01)
    assert "interval" not in ask("activation_fwd", "--column", "ipc")


RESNET = ["conv_fwd", "n=4", "c=256", "h=14", "w=14", "num_output=256", "kernel_size=3", "pad=1", "stride=1"]


def test_an_answer_says_whose_kernels_its_products_are() -> None:
    """ResNet's 3x3 layer over 256 channels on 8 units: gem5 took 22.3 M cycles, by the stand-in 16.9 M."""
    assert "matrix products: rocBLAS' own kernels" in ask(*RESNET, "num-compute-units=8", "--csv", "own.csv")
    shown = ask(*RESNET, "num-compute-units=8", "products=stand-in", "--csv", "plain.csv")
    assert "matrix products: this project's stand-in" in shown
    own, plain = (pd.read_csv(name).iloc[0] for name in ("own.csv", "plain.csv"))
    assert (own["products"], plain["products"]) == ("rocBLAS", "stand-in")
    assert 1.0 < own["gpu_cycles"] / plain["gpu_cycles"] < 2 * 22.3 / 16.9
    assert "matrix products" not in ask("softmax_fwd")


def test_an_answer_with_products_of_both_kinds_has_them_as_a_column() -> None:
    shown = ask("gemm", "transpose_a=true", "transpose_b=true,false").splitlines()
    assert shown[0].split()[-1] == "products"
    assert {line.split()[0]: line.split()[-1] for line in shown[1:3]} == {
        "False": "rocBLAS",
        "True": "stand-in",
    }
    with pytest.raises(ConfigError, match="one kind of matrix products") as caught:
        ask("fc_fwd", "products=rocblas,stand-in")
    assert "ask twice" in str(caught.value)


def test_a_gpu_without_rocblas_kernels_is_the_reason_that_an_answer_gives() -> None:
    shown = ask("fc_fwd", "n=4", "release=v24.0", "machine=apu-gfx902")
    assert "matrix products: this project's stand-in: rocBLAS' kernels are for gfx803 and gfx801" in shown
