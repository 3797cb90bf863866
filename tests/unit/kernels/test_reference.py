"""What the user's reference says, and how results are held against it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_programs import program

from apuflow.core.errors import ConfigError
from apuflow.kernels.guest import own_guest
from apuflow.kernels.program import Fill, OwnBuffer, initial_value
from apuflow.kernels.reference import OwnJudge, expected_outputs
from apuflow.launcher.reference import difference

TEXT = """
import numpy as np
def contents(parameters):
    return {"b": np.arange(parameters["n"])}
def expected(buffers, parameters):
    return {"a": 2 * buffers["a"], "b": buffers["b"] + 1}
"""


def own(tmp_path: Path, text: str = TEXT, **facts: Any) -> Any:
    file = tmp_path / "reference.py"
    file.write_text(text)
    buffers = (
        OwnBuffer("a", "float", 8, Fill("uniform", (3,))),
        OwnBuffer("b", "int", 5, Fill("reference")),
        OwnBuffer("c", "uchar", 3, Fill("values", (1, 255))),
    )
    known = {"buffers": buffers, "outputs": ("a", "b"), "reference": file, "parameters": {"n": 5}}
    return program(**{**known, "launches": (), **facts})


def test_contents_and_results(tmp_path: Path) -> None:
    made = own(tmp_path)
    wanted = expected_outputs(made)
    assert wanted["b"].dtype == np.int32 and wanted["b"].tolist() == [1, 2, 3, 4, 5]
    for number, name in enumerate(("a", "b")):
        wanted[name].tofile(tmp_path / f"{number}.bin")
    judge = OwnJudge(made, (Path("0.bin"), Path("1.bin")), (tmp_path / "k.o",))
    results = judge.results(tmp_path)
    assert results.agree and results.outputs == 2 and results.max_relative_error == 0
    assert not (tmp_path / "0.bin").exists(), "outputs that agree are removed"


def test_one_wrong_whole_number_is_wrong_and_small_rounding_is_not(tmp_path: Path) -> None:
    made = own(tmp_path)
    wanted = expected_outputs(made)
    (wanted["a"].astype(np.float32) * np.float32(1 + 1e-6)).tofile(tmp_path / "0.bin")
    (wanted["b"].astype(np.int32) + np.array([0, 0, 0, 0, 1], np.int32)).tofile(tmp_path / "1.bin")
    results = OwnJudge(made, (Path("0.bin"), Path("1.bin")), (tmp_path / "k.o",)).results(tmp_path)
    assert results.agree is False and results.worst == "b"
    assert results.max_relative_error == pytest.approx(1 / 5)
    assert not (tmp_path / "0.bin").exists() and (tmp_path / "1.bin").exists()


def test_differences() -> None:
    """Of the largest element; a value that is not finite on one side alone is infinitely wrong."""
    one = np.array([1, 2, 4], np.float32)
    assert difference(one, one + np.float32(1)) == pytest.approx(1 / 5)
    assert difference(one, np.array([1, 2, np.nan], np.float32)) == math.inf
    assert difference(np.array([np.nan, 2], np.float32), np.array([np.nan, 2], np.float32)) == 0
    assert difference(np.array([np.inf, 2], np.float32), np.array([np.inf, 4], np.float32)) == 0.5
    big = np.array([2**63 - 1], np.int64)
    assert difference(big, big - 1) > 0, "a difference that double precision cannot show"
    assert difference(one, one[:2]) == math.inf


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "cannot be loaded: SyntaxError"),
        ("def contents(p): return {}", "returns nothing for b"),
        ("def contents(p): return {'b': [1]}", "returns 1 elements for b, which has 5"),
        ("def contents(p): return 1 / 0", "fails: ZeroDivisionError"),
        ("y = 1", "has no function contents"),
    ],
)
def test_mistakes_of_a_reference_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        expected_outputs(own(tmp_path, text))


def test_the_guest_gets_what_it_cannot_compute(tmp_path: Path) -> None:
    """A page each in the data file: buffer b, then c; the guest makes a by itself."""
    guest = own_guest(own(tmp_path, launches=()), {}, gfx="gfx801", statistics="dispatch")
    assert guest.data is not None and len(guest.data) == 2 * 4096
    assert np.frombuffer(guest.data[:20], "<i4").tolist() == [0, 1, 2, 3, 4]
    assert guest.data[4096:4100] == bytes([1, 255, 0, 0])
    text = guest.contents.text().splitlines()
    assert [line for line in text if line.startswith("buffer")] == [
        "buffer a 32 uniform 3",
        "buffer b 20 file 0",
        "buffer c 4 file 4096",
    ]
    assert "data data.bin" in text


def test_contents_of_files_and_constants(tmp_path: Path) -> None:
    file = tmp_path / "v.bin"
    np.arange(4, dtype="<f8").tofile(file)
    assert initial_value(OwnBuffer("a", "double", 3, Fill("file", (), file))).tolist() == [0, 1, 2]
    with pytest.raises(ConfigError, match="holds less than its 40 bytes"):
        initial_value(OwnBuffer("a", "double", 5, Fill("file", (), file)))
    assert initial_value(OwnBuffer("a", "half", 3, Fill("constant", (0.5,)))).tolist() == [0.5] * 3
    assert initial_value(OwnBuffer("a", "ulong", 2, Fill("constant", (0,)))).tolist() == [0, 0]
    with pytest.raises(ConfigError, match="equal halves"):
        initial_value(OwnBuffer("a", "double", 2, Fill("constant", (1.0,))))
    with pytest.raises(ConfigError, match="not a number of type uchar"):
        initial_value(OwnBuffer("a", "uchar", 2, Fill("constant", (300,))))
