"""A point: one run, resolved, checked, and named by everything that can change its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from apuflow.configure.work import Work, launches_products
from apuflow.core.engines import EngineName, engine_facts
from apuflow.core.errors import ApuflowError
from apuflow.core.inputs import inputs_of
from apuflow.core.options import Options
from apuflow.core.products import ROCBLAS, of_launches
from apuflow.core.record import ReleaseFacts
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction
from apuflow.miopen import Launch
from apuflow.rocblas.call import PRODUCTS_KEY, library_launches, library_of


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        workload: its name.
        work: what runs.
        release: name of the gem5 release.
        release_facts: what that release does.
        options: every ``apu_se.py`` option, as on the command line without dashes.
        axes: what varies in the sweep, layer keys as ``layer.<key>``.
        label: what sets the point apart from the release's defaults and the workload as shipped; readable,
            safe as a file name, the same in every sweep that has this point.
        content: see describe().
    """

    engine: EngineName
    workload: str
    work: Work
    release: str
    release_facts: ReleaseFacts
    gfx: str
    options: Options
    axes: Mapping[str, Scalar]
    label: str
    content: Mapping[str, Any]

    def describe(self) -> dict[str, Any]:
        """Everything that can change the result, as JSON-able values: what the identity is made of."""
        return dict(self.content)

    @cached_property
    def identity(self) -> str:
        """First 8 hex digits of SHA-256 over the canonical JSON of describe()."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def id(self) -> str:
        """Its name: readable, unique, a file name."""
        return f"{self.label}-{self.identity}"

    @property
    def direction(self) -> Direction | None:
        """Passes that it runs; None where that has no meaning."""
        return self.work.direction

    @property
    def in_memory(self) -> bool:
        """Whether no cache holds its inputs when the first kernel starts."""
        return inputs_of(self.content) == "memory"

    @property
    def compute_units(self) -> int:
        """Compute units of its machine."""
        return int(self.options["num-compute-units"])

    @cached_property
    def products(self) -> str:
        """Whose kernels its matrix products are, as a column ``products`` has it; "": it has none."""
        if not engine_facts(self.engine).own_products:
            return ROCBLAS if launches_products(self.work) else ""
        try:
            launches = self.launches()
        except ApuflowError:
            return ""
        return of_launches((one.note, library_of(one, self.gfx)) for one in launches)

    def launches(self, compute_units: int | None = None) -> tuple[Launch, ...]:
        """The GPU kernels that it launches, on its machine's number of compute units (see Work.launches)."""
        found = self.work.launches(self.compute_units if compute_units is None else compute_units)
        return library_launches(found, self.gfx) if PRODUCTS_KEY in self.content else found
