"""A point: one run, resolved, checked, and named by everything that can change its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Literal, get_origin, get_type_hints

from pydantic import TypeAdapter

from apuflow.configure import option_rules
from apuflow.configure.sweep_keys import WORKGROUPS, FewerWorkgroups
from apuflow.configure.work import Software, Work, launches_products
from apuflow.configure.workloads import KINDS
from apuflow.core.engines import EngineName, engine_facts
from apuflow.core.errors import ApuflowError
from apuflow.core.inputs import DEFAULT, Inputs, content_part
from apuflow.core.options import Options
from apuflow.core.products import ROCBLAS, of_launches
from apuflow.core.record import ReleaseFacts
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction
from apuflow.miopen import Launch
from apuflow.rocblas.call import library_launches, library_of

if TYPE_CHECKING:
    from apuflow.preview.profile import Profile


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        axes: what varies in the sweep, layer keys as ``layer.<key>``.
        label: what sets the point apart from the release's defaults and the workload as shipped; readable,
            safe as a file name, the same in every sweep that has this point.
        options_of: release whose table of options describes its options.
        changed: the options that differ from that release's defaults, and ``mem-size``.
        read: those of them that can change the result.
        inputs: where a layer's inputs lie when its first kernel starts.
        workgroups: which workgroups of large grids run; None: all.
    """

    engine: EngineName
    workload: str
    kind: str
    work: Work
    software: Software
    release: str
    release_facts: ReleaseFacts
    gfx: str
    axes: Mapping[str, Scalar]
    label: str
    options_of: str
    changed: Mapping[str, Scalar]
    read: Mapping[str, Scalar]
    inputs: Inputs = DEFAULT
    workgroups: FewerWorkgroups | None = None

    def describe(self) -> dict[str, Any]:
        """Everything that can change the result, as JSON-able values: what the identity is made of."""
        return {
            "engine": self.engine,
            "direction": self.direction,
            **self.software.content(),
            **content_part(self.inputs),
            **({WORKGROUPS: self.workgroups.model_dump()} if self.workgroups is not None else {}),
            "options_of": self.options_of,
            "defaults": _defaults(self.options_of)[1],
            "options": dict(self.read),
            "config": self.work.text,
        }

    @cached_property
    def identity(self) -> str:
        """First 8 hex digits of SHA-256 over the canonical JSON of describe()."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def id(self) -> str:
        """Its name: readable, unique, a file name."""
        return f"{self.label}-{self.identity}"

    @cached_property
    def options(self) -> Options:
        """Every ``apu_se.py`` option, as on the command line without dashes."""
        return Options(_defaults(self.options_of)[0], self.changed)

    @property
    def direction(self) -> Direction | None:
        """Passes that it runs; None where that has no meaning."""
        return self.work.direction

    @property
    def described_by(self) -> str:
        """The workload whose file describes what it runs; of a suite's kernels their own."""
        return self.work.of_workload or self.workload

    @property
    def in_memory(self) -> bool:
        """Whether no cache holds its inputs when the first kernel starts."""
        return self.inputs == "memory"

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
        return library_launches(found, self.gfx) if self.software.products is not None else found

    def previewed(
        self, compute_units: int | None = None
    ) -> tuple[tuple[Launch, ...], tuple[Profile, ...] | None]:
        """What the preview models of it, on its machine's number of compute units (see Work.previewed)."""
        units = self.compute_units if compute_units is None else compute_units
        launches, profiles = self.work.previewed(units, self.gfx)
        if profiles is None and self.software.products is not None:
            launches = library_launches(launches, self.gfx)
        return launches, profiles

    def row(self, known: dict[int, str] | None = None) -> dict[str, str]:
        """Its fields as texts, of which ``of_row`` makes it again; JSON where a field is no text.

        ``known`` has texts by ``id`` of a field's object, which points share; theirs are added.
        """
        known = {} if known is None else known
        row = {}
        for name, adapter in _adapters().items():
            value = getattr(self, name)
            if isinstance(value, str):
                row[name] = value
                continue
            if id(value) not in known:
                known[id(value)] = adapter.dump_json(value, exclude_unset=True).decode()
            row[name] = known[id(value)]
        return row

    @classmethod
    def of_row(cls, row: Mapping[str, str]) -> Point:
        """The point whose fields a row has. Points share the fields that have the same text."""
        return cls(**{name: _value(name, row[name]) for name in _adapters()})


@cache
def _defaults(options_of: str) -> tuple[Mapping[str, Scalar], str]:
    """A release's defaults, one object for all points, and their hash."""
    found = option_rules.defaults(options_of)
    return found, hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:8]


@cache
def _adapters() -> Mapping[str, TypeAdapter[Any]]:
    """What writes and reads each field."""
    return {name: TypeAdapter(of) for name, of in _hints().items()}


@cache
def _hints() -> Mapping[str, Any]:
    return get_type_hints(Point) | {
        "work": reduce(or_, [work for kind in KINDS.values() for work in kind.works])
    }


@lru_cache(maxsize=4096)
def _value(field: str, text: str) -> Any:
    of = _hints()[field]
    if of is str or get_origin(of) is Literal:
        return text
    return _adapters()[field].validate_json(text)
