"""Whose kernels compute matrix products: what the site's file decides, without a look at network or disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure.products import in_preview, on_gem5, refuse_missing_checkouts
from apuflow.configure.site import Mirrors, Site
from apuflow.core.errors import ConfigError

OWN_MIOPEN = Site(miopen_source="MIOpen")


def test_rocblas_kernels_are_the_default_and_the_preview_needs_no_sources() -> None:
    assert on_gem5(Site()).products == "rocblas"
    assert in_preview(Site()).products == in_preview(OWN_MIOPEN).products == "rocblas"
    assert in_preview(Site()).on("gfx801").reason == ""


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        ({}, ["rocblas_source", "tensile_source"]),
        ({"rocblas_source": "rocBLAS"}, ["tensile_source"]),
        ({"tensile_source": "Tensile"}, ["rocblas_source"]),
        ({"tensile_source": "Tensile", "mirrors": Mirrors(rocblas="rocBLAS.git")}, []),
        ({"rocblas_source": "rocBLAS", "tensile_source": "Tensile"}, []),
    ],
)
def test_a_site_with_sources_of_its_own_runs_the_stand_in_until_it_names_all(
    named: dict[str, str], missing: list[str]
) -> None:
    """A machine that has MIOpen from disk may have no network: the reason names the keys that lack."""
    decision = on_gem5(OWN_MIOPEN.model_copy(update=named))
    assert decision.products == ("stand-in" if missing else "rocblas")
    keys = ("rocblas_source", "tensile_source")
    assert [key for key in keys if key in decision.reason] == missing


def test_a_mirror_of_miopen_counts_as_a_source_of_ones_own() -> None:
    mirrors = Mirrors(miopen="MIOpen.git")
    assert on_gem5(Site(mirrors=mirrors)).products == "stand-in"
    mirrors = Mirrors(miopen="MIOpen.git", rocblas="rocBLAS.git", tensile="Tensile.git")
    assert on_gem5(Site(mirrors=mirrors)).products == "rocblas"


def test_a_key_comes_before_what_is_named_and_the_sweeps_before_the_sites() -> None:
    assert on_gem5(OWN_MIOPEN.with_products("rocblas")).products == "rocblas"
    site = Site(products="stand-in")
    assert in_preview(site).products == on_gem5(site).products == "stand-in"
    assert in_preview(site.with_products("rocblas")).products == "rocblas"
    assert in_preview(site.with_products(None)).products == "stand-in"


def test_a_gpu_that_cannot_execute_the_kernels_runs_the_stand_in_whatever_is_set() -> None:
    """gfx902 is GCN5: other encodings than gfx803's (AMD, Vega ISA against GCN3 ISA)."""
    decision = in_preview(Site(products="rocblas")).on("gfx902")
    assert decision.products == "stand-in" and "gfx902" in decision.reason


def test_a_checkout_that_is_not_there_is_named_with_both_ways_out(tmp_path: Path) -> None:
    (tmp_path / "rocBLAS").mkdir()
    site = Site(rocblas_source="rocBLAS", tensile_source="absent")
    with pytest.raises(ConfigError) as caught:
        refuse_missing_checkouts(site, tmp_path)
    assert (caught.value.key, caught.value.value) == ("tensile_source", "absent")
    assert "checkout at rocm-4.0.0" in str(caught.value) and "products: stand-in" in str(caught.value)
