"""Matrix instructions in the timing model: with gem5's time of them, and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_release, option_rules
from apuflow.configure.release import Release
from apuflow.core.errors import ConfigError
from apuflow.kernels.previewed import matrix_work
from apuflow.preview.counters import counter_columns
from apuflow.preview.instructions import Counts
from apuflow.preview.machine import machine
from apuflow.preview.profile import Profile
from apuflow.preview.step import alone
from apuflow.preview.tables import Launches
from apuflow.preview.timing import times_of

MANY = 100_000


@pytest.mark.parametrize(
    ("name", "gfx", "cycles"),
    [
        ("v_mfma_f32_32x32x8_f16", "gfx942", 32),
        ("v_mfma_f32_32x32x8f16", "gfx90a", 64),
        ("v_mfma_f32_32x32x2_f32", "gfx942", 64),
    ],
)
def test_a_wavefront_takes_the_cycles_of_its_matrix_instructions(name: str, gfx: str, cycles: int) -> None:
    """One wavefront a SIMD unit: 4 cycles for each instruction, or those of AMD's manuals, and a start."""
    counts = Counts(valu=16.0 * MANY, ends=16.0, lanes=1024.0 * MANY)
    work = matrix_work({name: 16 * MANY}, gfx)
    profile = Profile(4, 4, counts, (), 256.0, 0.0, matrix=work)
    plain = machine({"num-compute-units": 4, "gpu-clock": "1GHz"}, option_rules.defaults("v24.0"))
    found = times_of(
        Launches.of([alone(profile)] * 2, [plain, plain._replace(matrix_time=True)]), corrected=False
    )
    without, with_time = found.ns.tolist()
    assert 4 * MANY <= without <= 4 * MANY + 40_000
    assert cycles * MANY <= with_time <= cycles * MANY + 40_000
    columns = counter_columns(found)
    assert columns["matrix_cycles"].tolist() == [16 * MANY * cycles] * 2
    assert columns["flops"].tolist() == [16 * MANY * 2 * 32 * 32 * (2 if "x2_" in name else 8)] * 2


def test_a_release_says_whether_gem5_has_the_time_of_matrix_instructions(root: Path) -> None:
    """v25.0 by pull requests 1700 and 2039. A row without matrix instructions needs no warning."""
    path = root / "configs/gem5/v24.1.yaml"
    path.with_name("mine.yaml").write_text(
        path.read_text().replace("matrix_cycles: none", "matrix_cycles: table")
    )
    known: dict[str, Release] = {
        name: load_release(name, root) for name in ("v24.0", "v24.1", "v25.0", "mine")
    }
    assert [known[name].capabilities.matrix_cycles for name in known] == ["none", "none", "table", "table"]
    facts = known["v24.1"].facts_on("gfx942")
    assert any("no time of gfx942's matrix" in each for each in facts.doubts("v24.1"))
    assert facts.doubts("v24.1", matrix=False) == known["mine"].facts_on("gfx942").doubts("mine") == ()
    assert known["v24.1"].facts_on("gfx902").doubts("v24.1") == ()
    path.write_text(path.read_text().replace("matrix_cycles: none", "matrix_cycles: some"))
    with pytest.raises(ConfigError, match="matrix_cycles"):
        load_release("v24.1", root)
