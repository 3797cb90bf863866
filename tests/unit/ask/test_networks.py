"""docs/measured/networks.md."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from places import ROOT

from apuflow.ask.networks import PAGE, inside, networks, page
from apuflow.preview import coverage

SOME = ["alexnet_64", "squeezenet1_1"]


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def test_the_page_has_the_shares_of_today_and_every_network() -> None:
    written = _rows((ROOT / PAGE).read_text(encoding="utf-8"))
    assert set(_rows(page(SOME, ROOT))) <= set(written), "run: python -m apuflow.ask.networks"
    assert [row.split()[1] for row in written[1:]] == networks(ROOT)


@pytest.mark.parametrize(("far", "share"), [(math.inf, 1.0), (0.0, 0.0)])
def test_all_is_inside_where_everything_was_measured(
    far: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = coverage.measured()
    spans = {key: [0.0, far] for key in ("wavefronts", "gpu_cycles", "dram_bytes")}
    kernels: dict[str, dict[str, Any]] = {name: {**facts, **spans} for name, facts in known.kernels.items()}
    monkeypatch.setattr(coverage, "measured", lambda: replace(known, kernels=kernels))
    # Its steps launch kernels that were all recorded.
    assert list(inside("alexnet_64", ROOT)) == pytest.approx([share] * 6)
