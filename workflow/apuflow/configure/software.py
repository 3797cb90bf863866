"""The programs and models that make a point's numbers: what its identity says of their versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Software:
    """Everything that can change a point's result besides its machine and its work. None: it has no part.

    Attributes:
        version: of the engine, where it is this project's own.
        gem5: commit and build, or the hash of the site's program (``prepare.requests.gem5_content``).
        image: digest, or the sources that it may come from (``prepare.requests.image_content``).
        statistics: what the launcher does with gem5's statistics.
        miopen: commit of the sources of its kernels.
        corrections: version of the changes that kernels are compiled with (``launcher.corrections``).
        products: commits of rocBLAS' kernels; None: no product, the stand-in, or those of the image.
        benchmark, dnnmark: program, and the build that has it (``prepare.requests.dnnmark_content``).
        command: hashes, arguments and environment of a program of the user's.
        barrier_slots: of the preview's model of the release.
    """

    version: str | None = None
    gem5: Mapping[str, Any] | None = None
    image: Mapping[str, Any] | None = None
    statistics: str | None = None
    miopen: str | None = None
    corrections: str | None = None
    products: Mapping[str, str] | None = None
    benchmark: str | None = None
    dnnmark: str | Mapping[str, Any] | None = None
    command: Mapping[str, Any] | None = None
    barrier_slots: int | None = None

    def content(self) -> dict[str, Any]:
        """Its part of a point's identity."""
        return {name: value for name, value in vars(self).items() if value is not None}
