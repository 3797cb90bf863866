"""docs/measured/networks.md."""

from __future__ import annotations

import math
from dataclasses import replace

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
    spans = {key: [0.0, far] for key in ("wavefronts", "gpu_cycles", "dram_bytes")}
    facts = {"runs": 20, "errors": [-0.1, 0.1], **spans}
    known = coverage.measured()
    kernels = dict.fromkeys([*known.kernels, "sgd_momentum"], facts)
    monkeypatch.setattr(coverage, "measured", lambda: replace(known, kernels=kernels))
    assert list(inside("alexnet_64", ROOT)) == pytest.approx([share] * 6)
