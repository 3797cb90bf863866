"""What DNNMark or MIOpen would trip over."""

from __future__ import annotations

import pytest
from dnnmark_texts import COMPOSED, SOFTMAX, standalone

from apuflow.dnnmark import (
    check,
    parse,
)


def problems(text: str, direction: str = "both", handles: int | None = None) -> list[tuple[str, str]]:
    return [
        (problem.level, problem.message)
        for problem in check(parse(text), direction, handles)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("text", "direction", "handles", "level", "part"),
    [
        (standalone("Convolution", "conv_mode=convolution"), "fwd", 1, "error", "aborts before any kernel"),
        (standalone("Convolution", "conv_mode=transpose", "num_output=4"), "fwd", 1, "warning", "transposed"),
        (standalone("BatchNorm", "save_intermediates=false"), "fwd", 1, "error", "null pointer"),
        (standalone("Dropout"), "fwd", 1, "error", "not implemented"),
        (standalone("Softmax", "softmax_algo=fast"), "fwd", 1, "warning", "no effect"),
        (standalone("LRN", "k=0"), "fwd", 1, "error", "k=0"),
        (standalone("Pooling", "kernel_size=16", "pad=8"), "bwd", 1, "error", "255"),
        (standalone("Pooling"), "bwd", 1, "warning", "index"),
        (standalone("Convolution"), "bwd", 1, "warning", "instead of its gradient"),
        (standalone("Convolution", shape=(1, 64, 1080, 1080)), "fwd", 1, "error", "column matrix"),
        (standalone("Softmax", shape=(65536, 32768, 1, 1)), "fwd", 1, "error", "C int"),
        (standalone("Softmax", "n=3"), "fwd", 1, "warning", "given twice"),
        (COMPOSED, "fwd", 2, "error", "3 layers, but the program makes 2 handles"),
        (COMPOSED.replace("name=pool1", "name=pool1\nn=9"), "fwd", 3, "warning", "ignored"),
        (SOFTMAX.replace("run_mode=standalone", ""), "fwd", 1, "warning", "run_mode is not set"),
    ],
)
def test_traps_are_named_with_their_remedy(
    text: str, direction: str, handles: int, level: str, part: str
) -> None:
    assert any(found == level and part in message for found, message in problems(text, direction, handles))


def test_the_workspace_trap_of_gfx803_is_named_there_only() -> None:
    network = parse(standalone("Convolution", "kernel_size=3", "pad=1", shape=(1, 16, 8, 8)))
    (problem,) = check(network, "fwd", 1, "gfx803")
    assert (problem.level, "Winograd" in problem.message) == ("warning", True)
    assert check(network, "fwd", 1, "gfx801") == check(network, "fwd", 1) == ()


def test_a_sound_configuration_has_no_problem() -> None:
    assert problems(SOFTMAX, "both", 1) == []
    assert problems(COMPOSED, "fwd", 3) == []
