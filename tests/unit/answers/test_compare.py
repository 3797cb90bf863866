"""What differs between two answers, and what is named as its cause."""

from __future__ import annotations

from apuflow.answers.answer import Answer, Kind, causes, differences, equal, lines

VALUES: dict[tuple[Kind, str], str] = {
    ("fact", "gem5_commit"): "c91af55",
    ("fact", "kernel_compiler"): "clang 15",
    ("fact", "kernel_code"): "95ab",
    ("fact", "launcher"): "11ff",
    ("option", "mem-req-latency"): "50",
    ("counter", "gpu_cycles"): "15239",
    ("counter", "instructions"): "5800",
    ("rows", "gpu"): "10:aa",
    ("rows", "cpu"): "20:bb",
}


def answer(**changes: str) -> Answer:
    """The recorded one with some values changed, by name with _ for -."""
    named = {key: changes.pop(key[1].replace("-", "_"), text) for key, text in VALUES.items()}
    assert not changes
    return Answer("softmax_fwd", named)


RECORDED = answer()


def told(**changes: str) -> str:
    return "\n".join(lines(RECORDED, answer(**changes)))


def test_equal_statistics_are_equal_whatever_they_were_made_with() -> None:
    """A clang 16 that writes the same code is no difference; another commit that counts the same is told."""
    assert told(kernel_compiler="clang 16") == ""
    other = answer(gem5_commit="0000000")
    assert equal(differences(RECORDED, other))
    assert list(lines(RECORDED, other)) == [
        "though made from another commit of gem5 (recorded c91af55, here 0000000)"
    ]


def test_a_counter_is_told_with_both_values_and_its_change() -> None:
    """By hand: 14939 / 15239 is 0.98031."""
    text = told(gpu_cycles="14939", gpu="10:cc", mem_req_latency="60")
    assert "gpu_cycles                       15239 recorded,           14939 here (-1.97 %)" in text
    assert "rows of gpu differ" in text and "instructions of each kind" in text
    assert "usual cause: other options: mem-req-latency=60, recorded 50" in text


def test_other_kernel_code_is_told_with_both_compilers_before_the_launcher() -> None:
    changes = {"instructions": "5540", "kernel_code": "92b7", "kernel_compiler": "clang 19", "launcher": "22"}
    first, second = causes(RECORDED, answer(**changes))
    assert first.endswith("(recorded 95ab by clang 15, here 92b7 by clang 19)")
    assert second.startswith("a launcher of another version or C compiler")
    assert "the work of the GPU is as recorded" not in told(**changes)


def test_rows_that_no_table_reads_are_compared_too() -> None:
    assert not equal(differences(RECORDED, answer(cpu="20:dd")))
    assert told(cpu="20:dd", launcher="22").splitlines()[0] == "rows of cpu differ"


def test_a_difference_without_a_known_cause_is_told_by_whether_the_work_is_the_same() -> None:
    assert "gem5 was built from other sources than its checkout has" in told(gpu_cycles="15240")
    assert "gem5 executes an instruction in another way" in told(instructions="5801")


def test_a_value_that_one_side_lacks_is_a_difference() -> None:
    lacking = Answer("softmax_fwd", {key: text for key, text in VALUES.items() if key[1] != "gpu_cycles"})
    assert "15239 recorded,            none here" in "\n".join(lines(RECORDED, lacking))
    assert "none recorded,           15239 here" in "\n".join(lines(lacking, RECORDED))
    assert " %)" not in "\n".join([*lines(RECORDED, lacking), *lines(lacking, RECORDED)])


def test_a_counter_that_is_newer_than_the_table_is_left_out() -> None:
    older = Answer(RECORDED.workload, RECORDED.values, frozenset({"gpu_cycles", "instructions"}))
    here = Answer(RECORDED.workload, {**RECORDED.values, ("counter", "matrix_cycles"): "0"})
    assert equal(differences(older, here))
    assert not equal(differences(RECORDED, here))
