"""From a combination of axis values to what really runs: options, network, memory, label, software.

Each distinct set of options and each distinct network is resolved and checked once, so that a sweep of
10,000 points costs little more than its distinct parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure import catalogue, option_rules, yaml_source
from apuflow.configure.base import alike_together, together
from apuflow.configure.combinations import PLACES, Assignment, Plan, line_of
from apuflow.configure.fit import Capacity, capacity, overflows
from apuflow.configure.loading import load_machine, load_release
from apuflow.configure.point import Point
from apuflow.configure.products import Decision
from apuflow.configure.release import Release
from apuflow.configure.site import load_site
from apuflow.configure.structure_rules import OptionProblem, too_many
from apuflow.configure.sweep import Sweep
from apuflow.configure.sweep_keys import workgroups_label
from apuflow.configure.work import Software, Work, label_of, launches_products, option_parts, value_part
from apuflow.configure.workload import Workload
from apuflow.configure.workloads import works
from apuflow.core import gpus, inputs, paths, units
from apuflow.core.engines import SIMULATING, EngineName
from apuflow.core.errors import ApuflowError, ConfigError, NotDerivable, NotModelled
from apuflow.core.options import Options
from apuflow.core.record import ReleaseFacts
from apuflow.core.scalar import Scalar
from apuflow.engines import get_engine, runs_on
from apuflow.engines.base import Place, software_of
from apuflow.engines.fewer_workgroups import where_large
from apuflow.rocblas.tables import GPUS

MAX_PROBLEMS = 20
"""Problems that one message lists in full."""


@dataclass(frozen=True, eq=False)
class _Base:
    """A machine on a release: what a point's own options are laid over."""

    name: str
    release: str
    release_file: Release
    defaults: Mapping[str, Scalar]
    given: Mapping[str, Scalar]


@dataclass(frozen=True, eq=False)
class _Machine:
    """A base with a point's own options; ``memory`` is None where no option gives it."""

    base: _Base
    changed: Mapping[str, Scalar]
    compute_units: int
    capacity: Capacity
    memory: str | None
    label: tuple[str, ...]
    gfx: str
    facts: ReleaseFacts
    too_many: tuple[OptionProblem, ...]


class Resolver:
    """Resolves the combinations of one sweep for one workload, and collects what is wrong with them."""

    def __init__(self, sweep: Sweep, workload: Workload, plan: Plan, root: Path) -> None:
        self._sweep = sweep
        self._workload = workload
        self._plan = plan
        self._root = root
        self._site = load_site(root).with_products(sweep.products)
        self._problems: dict[tuple[str, str, str], ConfigError] = {}
        self._work_of = works(workload, plan.layer, self._note_work)
        self._base = functools.cache(self._load_base)
        self._machine = functools.cache(self._resolve_machine)
        self._accepted = functools.cache(self._accepts)
        self._changed = functools.cache(_with_memory)
        self._software = functools.cache(self._find_software)
        self._computed: dict[tuple[EngineName, int, int, str], bool] = {}
        self._release_of: dict[str, str] = {}
        self._first_product: dict[EngineName, tuple[str, Decision]] = {}

    def check_engine(self, engine: EngineName) -> None:
        """Note when the engine cannot run the workload at all."""
        runs = runs_on(self._workload, engine)
        if runs.state == "no":
            name = self._workload.name
            why = f"{engine} cannot run {name}: {runs.reason}"
            self._note(why, "workloads", name, "leave it out of the sweep")

    def raise_problems(self) -> None:
        """Raise one ConfigError that lists everything found, if anything was."""
        problems = alike_together(self._problems.values())
        if len(problems) > MAX_PROBLEMS:
            more = len(problems) - MAX_PROBLEMS
            problems = [*problems[:MAX_PROBLEMS], ConfigError(f"... and {more} more of this sweep")]
        if problems:
            raise together(problems)

    def resolve(self, engine: EngineName, assignment: Assignment) -> Point | None:
        """The point of these values; None when something is wrong with it (noted)."""
        machine = self._machine(tuple(pair for pair in assignment if not pair[0].startswith("layer.")))
        work = self._work_of(tuple(pair for pair in assignment if pair[0].startswith("layer.")))
        if machine is None or work is None or not self._accepted(engine, machine):
            return None
        memory = self._memory(machine, work)
        if (
            memory is None
            or not self._hosts(machine)
            or not self._places(engine, machine, work)
            or not self._computes(engine, machine, work)
            or not self._multiplies(engine, machine, work)
        ):
            return None
        size, memory_label = memory
        changed, base = self._changed(machine, size), machine.base
        software = software_of(self._software(engine, base, machine.gfx), self._workload, work)
        workgroups = where_large(self._sweep.workgroups, engine, software, work, machine.compute_units)
        parts = (inputs.label_part(self._sweep.inputs), workgroups_label(workgroups))
        label = label_of(*machine.label, *work.label, memory_label, *parts)
        return Point(
            engine=engine,
            workload=self._workload.name,
            kind=self._workload.kind,
            work=work,
            software=software,
            release=base.release,
            release_facts=machine.facts,
            gfx=machine.gfx,
            axes=dict(assignment),
            label=label,
            options_of=base.release_file.options_of,
            changed=changed,
            read=get_engine(engine).options_read(changed),
            inputs=self._sweep.inputs,
            workgroups=workgroups,
        )

    def gfx(self, machine: Assignment) -> str:
        """The GPU of a machine; "": something is wrong with it (noted)."""
        found = self._machine(machine)
        return found.gfx if found is not None else ""

    # options -------------------------------------------------------------------------------------------

    def _resolve_machine(self, assignment: Assignment) -> _Machine | None:
        values = dict(assignment)
        places = {name: str(values.pop(name, getattr(self._sweep, name))) for name in PLACES}
        base = self._base(places["release"], places["machine"])
        if base is None:
            return None
        given = {**base.given, **self._plan.options, **values}
        described = base.release_file.options_of
        problems = option_rules.check(given, described)
        self._note_options(problems, base)
        if problems:
            return None
        full = option_rules.resolve(given, described)
        compute_units = int(full["num-compute-units"])
        if "cu-per-sa" not in given and "sa-per-complex" not in given:
            full["cu-per-sa"] = compute_units
        gfx = str(full["gfx-version"])
        if gfx not in base.release_file.gfx:
            remedy = f"one of {', '.join(base.release_file.gfx)}, or another release"
            self._note(f"gem5 {base.release} cannot run this GPU architecture", "gfx-version", gfx, remedy)
            return None
        names = sorted({*given, "cu-per-sa"}, key=_order().__getitem__)
        changed = {name: full[name] for name in names if base.defaults.get(name) != full[name]}
        memory = str(full["mem-size"]) if "mem-size" in given else None
        return _Machine(
            base,
            changed,
            compute_units,
            capacity(full),
            memory,
            option_parts(base.release, changed, compute_units),
            gfx,
            base.release_file.facts_on(gfx),
            too_many(given, full, base.release_file.capabilities.set_bits),
        )

    def _load_base(self, release: str, machine: str) -> _Base | None:
        try:
            release_file = load_release(release, self._root)
            given = load_machine(machine, self._root).options
        except ConfigError as error:
            self._keep(error)
            return None
        return _Base(machine, release, release_file, option_rules.defaults(release_file.options_of), given)

    # both ----------------------------------------------------------------------------------------------

    def _memory(self, machine: _Machine, work: Work) -> tuple[str, str] | None:
        """The memory that the point needs or was given, and its label; None: noted that it is too small."""
        derived = units.format_size(1 << max(29, (work.simulated_bytes - 1).bit_length()))
        if machine.memory is None:
            return derived, ""
        if (units.size_bytes(machine.memory) or 0) < work.device_bytes:
            why = f"the workload allocates {work.device_bytes / 1e6:.0f} MB: gem5 would run out of memory"
            self._note(why, "mem-size", machine.memory, f"leave it out, or {derived}")
            return None
        other = machine.memory != derived
        return machine.memory, value_part("mem-size", machine.memory) if other else ""

    def _hosts(self, machine: _Machine) -> bool:
        """Whether each thread of the workload's program has a CPU core."""
        given, needed = Options(machine.base.defaults, machine.changed)["num-cpus"], self._workload.cpu_cores
        if int(given) < needed:
            self._note(
                f"{self._workload.name} needs {needed} CPU cores, one for each of its threads: with fewer it "
                "would wait for ever",
                "num-cpus",
                given,
                f"options: {{num-cpus: {needed}}}, under per_workload for it alone",
            )
        return int(given) >= needed

    def _accepts(self, engine: EngineName, machine: _Machine) -> bool:
        """Whether the engine can run on this machine."""
        problem = get_engine(engine).objection({**machine.base.defaults, **machine.changed})
        if problem is not None:
            self._note(problem.message, problem.key or "", problem.value, problem.remedy or "")
        starts = engine not in SIMULATING or self._own_gem5(machine.base.release)
        if starts and engine in SIMULATING and machine.too_many:  # Ruby's sets have too few bits
            self._note_options(machine.too_many, machine.base)
            starts = False
        return problem is None and starts

    def _own_gem5(self, release: str) -> bool:
        """Whether the gem5 that the site supplies for this release is not another release's as well."""
        gem5 = self._site.of(release).gem5
        place = gem5.binary or gem5.source
        first = release if place is None else self._release_of.setdefault(place, release)
        if first != release:
            why = f"the site gives one gem5 for two releases, {first} and {release}"
            remedy = f"name its own: gem5_by_release: {{{release}: {{binary: ..., source: ...}}}}"
            self._keep(ConfigError(why, file="configs/site.yaml", key="gem5", value=place, remedy=remedy))
        return first == release

    def _computes(self, engine: EngineName, machine: _Machine, work: Work) -> bool:
        """Whether the engine can run these layers."""
        key = (engine, id(work), machine.compute_units, machine.gfx)
        if key not in self._computed and (unknown := work.not_compiled(machine.gfx)) is not None:
            self._note(unknown.message, "gfx-version", machine.gfx, unknown.remedy or "", machine.base.name)
            self._computed[key] = False
        if key not in self._computed:
            problem = _objection(engine, machine, work)
            if problem is not None:
                shown = ", ".join(work.label) or "as shipped"
                self._note(_said(problem), "layer", shown, problem.remedy or "another engine")
            self._computed[key] = problem is None
        return self._computed[key]

    def not_modelled(self, engine: EngineName, assignment: Assignment) -> str:
        """Why the engine refuses these layers on this machine; "": it does not, or more is wrong."""
        machine = self._machine(tuple(pair for pair in assignment if not pair[0].startswith("layer.")))
        work = self._work_of(tuple(pair for pair in assignment if pair[0].startswith("layer.")))
        if machine is None or work is None:
            return ""
        problem = _objection(engine, machine, work)
        return f"{engine}: {_said(problem)}" if isinstance(problem, (NotModelled, NotDerivable)) else ""

    def _products(self, engine: EngineName, machine: _Machine) -> Decision | None:
        """Whose kernels compute products on this machine; None: the engine's program decides."""
        decision = get_engine(engine).products(self._site)
        return None if decision is None else decision.on(machine.gfx)

    def _multiplies(self, engine: EngineName, machine: _Machine, work: Work) -> bool:
        """Whether the same kernels compute the products of all GPUs of this engine's table."""
        decision = self._products(engine, machine)
        if decision is None or not launches_products(work):
            return True
        first_gfx, first = self._first_product.setdefault(engine, (machine.gfx, decision))
        if first.products == decision.products:
            return True
        ran = {first.products: first_gfx, decision.products: machine.gfx}
        self._note(
            f"one table would hold matrix products by rocBLAS' own kernels ({ran['rocblas']}) and by this "
            f"project's stand-in ({ran['stand-in']}): rocBLAS' kernels run on {' and '.join(GPUS)} alone",
            "products",
            "rocblas",
            "products: stand-in in the sweep (ask: products=stand-in), or a sweep for each GPU",
        )
        return False

    def _places(self, engine: EngineName, machine: _Machine, work: Work) -> bool:
        """Whether every workgroup fits into a compute unit, as far as its kernels are known."""
        if machine.capacity.ample or not self._workload.derives_kernels:
            return True
        decision = self._products(engine, machine)
        library = machine.gfx if decision is not None and decision.products == "rocblas" else None
        problems = overflows(work, machine.compute_units, machine.capacity, library)
        for problem in problems:
            value = Options(machine.base.defaults, machine.changed)[problem.option]
            self._note(problem.message, problem.option, value, f"at least {problem.needed}")
        return not problems

    def _find_software(self, engine: EngineName, base: _Base, gfx: str) -> Software:
        place = Place(base.release_file, gfx, self._site.of(base.release), self._root)
        return get_engine(engine).software(self._workload, place)

    def _note(
        self, message: str, option: str, value: object, remedy: str, machine: str | None = None
    ) -> None:
        """Keep a problem; ``machine``: the option may stand in that machine's file instead of the sweep's."""
        file = line_of(self._sweep, self._root, [option.removeprefix("layer."), option])
        if machine is not None and option not in self._plan.options and option not in self._plan.axes:
            document = yaml_source.load(self._root / paths.machine_file(machine))
            file = document.where(("options", option))
        self._keep(ConfigError(message, file=file, key=option, value=value, remedy=remedy))

    def _note_options(self, problems: Iterable[OptionProblem], base: _Base) -> None:
        for one in problems:
            machine = base.name if one.option in base.given else None
            self._note(one.message, one.option, one.value, one.remedy, machine)

    def _note_work(self, error: ConfigError) -> None:
        if error.file is None:
            error.file = line_of(self._sweep, self._root, [(error.key or "").removeprefix("layer."), "layer"])
        self._keep(error)

    def _keep(self, error: ConfigError) -> None:
        self._problems.setdefault((error.message, str(error.key), str(error.value)), error)


def _objection(engine: EngineName, machine: _Machine, work: Work) -> ApuflowError | None:
    """Why an engine cannot run these layers on a machine; None: nothing is known against it."""
    return _only_own_kernels(work, machine.gfx) or get_engine(engine).layer_objection(
        work, machine.compute_units, machine.gfx
    )


def _said(problem: ApuflowError) -> str:
    about = "" if problem.key is None else f" ({problem.key}: {problem.value})"
    return f"{problem.message}{about}"


def _only_own_kernels(work: Work, gfx: str) -> ConfigError | None:
    """Why this work cannot run on a GPU that gem5 is not told of; None: it can."""
    told = gpus.gpu(gfx).runs_as
    if work.executed or not told:
        return None
    named = ", ".join(name for name, each in gpus.GPUS.items() if not each.runs_as)
    return ConfigError(
        f"gem5 runs code of {gfx} as {told}, and there are no kernels of MIOpen and rocBLAS for it here",
        key="gfx-version",
        value=gfx,
        remedy="kernels of your own (kind: kernels) in Triton, HIP, OpenCL or assembly work there; or take a "
        f"machine of {named}",
    )


def _with_memory(machine: _Machine, memory: str) -> Mapping[str, Scalar]:
    """A machine's options with a point's memory."""
    return {**machine.changed, "mem-size": memory}


@functools.cache
def _order() -> Mapping[str, int]:
    """Place of each option in the catalogue: labels do not follow the order of a sweep file."""
    return {name: number for number, name in enumerate(catalogue.catalogue())}
