"""Whose kernels compute the matrix products of a sweep's points, decided from configuration alone.

A sweep's ``products`` comes before that of the site. Without both it is rocBLAS' own kernels. Neither a
network nor a directory is asked: every machine decides alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from apuflow.configure.site import Site
from apuflow.core.errors import ConfigError
from apuflow.rocblas.tables import GPUS, Products

WITHOUT = "products: stand-in, in configs/site.yaml or in the sweep"
"""What runs no kernel of rocBLAS'."""


class Decision(NamedTuple):
    """Whose kernels run, and why it is the stand-in ("" where rocBLAS' run)."""

    products: Products
    reason: str = ""

    def on(self, gfx: str) -> Decision:
        """The decision for one GPU architecture."""
        if self.products == "stand-in" or gfx in GPUS:
            return self
        return Decision("stand-in", f"rocBLAS' kernels are for {' and '.join(GPUS)}, not for {gfx}")


def in_preview(site: Site) -> Decision:
    """Of engine preview, which needs no sources."""
    return _given(site) or Decision("rocblas")


def on_gem5(site: Site) -> Decision:
    """Of engine gem5-kernels, which needs the sources of rocBLAS and Tensile: checkouts or mirrors.

    A site that names none of MIOpen either has git fetch all of them from their public addresses.
    """
    mirrors = site.mirrors
    missing: list[str] = []
    if site.miopen_source or mirrors.miopen:
        missing += [] if site.rocblas_source or mirrors.rocblas else ["rocBLAS"]
        missing += [] if site.tensile_source or mirrors.tensile else ["Tensile"]
    if (given := _given(site)) or not missing:
        return given or Decision("rocblas")
    keys = (f"{name.lower()}_source (or mirrors.{name.lower()})" for name in missing)
    return Decision(
        "stand-in",
        f"configs/site.yaml names sources of MIOpen and none of {' and '.join(missing)}; name "
        f"{' and '.join(keys)} for rocBLAS' own kernels",
    )


def refuse_missing_checkouts(site: Site, root: Path) -> None:
    """Refuse (ConfigError) checkouts of rocBLAS and Tensile that the site names and that are not there."""
    for key in ("rocblas_source", "tensile_source"):
        given: str | None = getattr(site, key)
        if given is not None and not (root / given).is_dir():
            file, remedy = "configs/site.yaml", f"name a checkout at rocm-4.0.0, or {WITHOUT}"
            raise ConfigError("no such directory", file=file, key=key, value=given, remedy=remedy)


def _given(site: Site) -> Decision | None:
    if site.products is None:
        return None
    return Decision(site.products, "`products` is set to it" if site.products == "stand-in" else "")
