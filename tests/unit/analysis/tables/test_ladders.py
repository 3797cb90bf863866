"""Ladders: numbers by hand from launches, and those that were published."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from apuflow_analysis import figures
from apuflow_analysis.figures import FigureError
from apuflow_analysis.tables.ladders import levels, measured, published

ABOUT = {
    "engine": "gem5-kernels",
    "direction": "",
    "status": "completed",
    "flags": "",
    "machine": "m",
    "release": "v24.1",
    "num_compute_units": 4,
    "gpu_clock": "1GHz",
    "tcp_bytes": 16384.0,
    "tcc_bytes": 262144.0,
    "tlb_bytes": 262144.0,
}


def launches(workload: str, cycles: dict[str, float], **parameters: int) -> list[dict[str, Any]]:
    point: dict[str, Any] = {"workload": workload, "point": f"{workload}-{parameters}"}
    point |= {f"layer.{name}": value for name, value in parameters.items()}
    return [{**ABOUT, **point, "kernel": name, "gpu_cycles": value} for name, value in cycles.items()]


def walks(*counts_and_cycles: tuple[int, float, float], stride: int = 64) -> list[dict[str, Any]]:
    return [
        row
        for count, short, long in counts_and_cycles
        for row in launches(
            "ladder_chase", {"walk_short": short, "walk_long": long}, count=count, stride=stride, hops=1024
        )
    ]


def test_a_latency_is_the_time_of_the_additional_laps() -> None:
    """100 elements: 11 laps of 100 steps are the first at least 1024; 2048 elements: one lap."""
    found = measured(pd.DataFrame(walks((100, 5_000, 115_000), (2048, 400_000, 810_000 - 400))))
    assert list(found["value"]) == [100.0, pytest.approx(409_600 / 2048)]
    assert list(found["across"]) == [6400.0, 131072.0]


def test_a_bandwidth_is_bytes_per_cycle_and_compute_unit() -> None:
    """1 MB of volume in 16 passes over 64 kB: 1,048,576 B in 16,384 cycles on 4 units are 16 B."""
    read = launches("ladder_read", {"read_short": 500, "read_long": 16_884}, bytes=65536, volume=1048576)
    copy = launches("ladder_copy", {"copy_short": 500, "copy_long": 16_884}, bytes=65536, volume=1048576)
    found = measured(pd.DataFrame([*read, *copy])).set_index("quantity")["value"]
    assert found["read bandwidth"] == 16.0
    assert found["copy bandwidth"] == 32.0


def test_the_lds_atomics_and_launches() -> None:
    rows = [
        *launches("ladder_lds", {"lds_short": 100, "lds_long": 2660}, ways=1, waves=1, reads=256),
        *launches("ladder_lds", {"lds_short": 100, "lds_long": 8292}, ways=1, waves=16, reads=256),
        *launches("ladder_atomics", {"atomics_short": 10, "atomics_long": 2058}, lines=1, rounds=4),
        *launches("ladder_launch", {"mark": 9, "nothing": 700}, workgroups=4),
    ]
    found = measured(pd.DataFrame(rows)).set_index("quantity")["value"]
    assert found["LDS latency"] == 10.0  # 2560 cycles for 256 reads
    assert found["LDS bandwidth"] == 128.0  # 16 wavefronts x 256 reads x 256 B in 8192 cycles
    assert found["atomics"] == 0.5  # 4 units x 64 x 4 in 2048 cycles
    assert found["launch"] == 700.0


def test_what_an_engine_did_not_follow_has_no_number() -> None:
    assert measured(pd.DataFrame(walks((100, 5_000, 4_000)))).empty


def test_levels_are_read_where_a_walk_surely_fits_or_surely_does_not() -> None:
    """A TCP of 256 lines, a TCC of 4096; walks over pages do not count."""
    rows = walks((32, 0, 1024 * 100), (1024, 0, 1024 * 200), (4096, 0, 4096 * 300), (16384, 0, 16384 * 400))
    found = levels(measured(pd.DataFrame([*rows, *walks((64, 0, 1024 * 999), stride=4096)])))
    latencies = {name: found[f"{name} latency"] for name in ("TCP", "TCC", "memory")}
    assert latencies == {"TCP": 100.0, "TCC": 200.0, "memory": 400.0}


def test_published_numbers_have_a_source_and_comparable_units() -> None:
    """MI210: 4014.12 GiB/s over 104 compute units at 1700 MHz are 24.38 B a cycle and unit."""
    frame = published()
    assert frame["source"].str.len().min() > 20
    one = frame[(frame["gpu"] == "MI210") & (frame["level"] == "TCC") & (frame["operation"] == "read")]
    assert one.set_index("quantity")["converted"].round(2).to_dict() == {
        "latency": 302.15,
        "bandwidth": 24.38,
    }


@pytest.mark.parametrize("name", ["latency_ladder", "ladder_numbers"])
def test_figures_put_published_gpus_beside_the_machine(name: str) -> None:
    plot = figures.make(name, pd.DataFrame(walks((32, 0, 102_400), (1024, 0, 204_800))))
    texts = [text.get_text() for text in plot.figure.findobj() if hasattr(text, "get_text")]
    assert any("MI210" in text for text in texts)
    assert any(text in ("m", "m, gem5-kernels v24.1") or "m, gem5-kernels" in text for text in texts)


def test_parts_of_the_same_size_share_a_label() -> None:
    rows = walks((64, 0, 102_400), (1024, 0, 204_800), stride=4096)
    plot = figures.make("latency_ladder", pd.DataFrame(rows))
    texts = [text.get_text() for text in plot.figure.findobj() if hasattr(text, "get_text")]
    assert "TCC, L1 TLB 256kB" in texts and "TCC 256kB" not in texts


def test_a_table_without_ladders_is_refused() -> None:
    rows = launches("own_square", {"square": 10})
    with pytest.raises(FigureError, match="no point measures this"):
        figures.make("latency_ladder", pd.DataFrame(rows))
