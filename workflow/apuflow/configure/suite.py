"""The file of a suite (``configs/suites/<name>.yaml``), the suites of a sweep, and what it runs of each."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, StringConstraints

from apuflow.configure.base import (
    IDENTIFIER,
    ListOf,
    Model,
    Name,
    Text,
    check_name,
    known_names,
    one_of,
    read,
)
from apuflow.configure.loading import suite_names
from apuflow.configure.meant import meant_key
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites.operator_kernels import TYPES
from apuflow.suites.step import ALGORITHMS, ATTENTIONS, PASSES, Choice
from apuflow.suites.suite import KINDS, NETWORKS, Suite

_Rule: TypeAlias = tuple[Callable[[Scalar], bool], str, str]
"""Whether a value can be taken, what is wrong otherwise, what to write."""


def _is_count(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_size(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _among(known: Collection[str], what: str) -> _Rule:
    return known.__contains__, f"no such {what}", f"one of {', '.join(known)}"


_COUNT: _Rule = (_is_count, "a whole number from 1 on is expected", "such as 16")
_WORD: _Rule = (lambda _: True, "", "")
CHOICES: Final[Mapping[str, _Rule]] = {
    "n": _COUNT,
    "image": _COUNT,
    "direction": _among(PASSES, "direction"),
    "set": _WORD,
    "subset": _COUNT,
    "op": _WORD,
    "steps": _WORD,
    "algorithm": _among(ALGORITHMS, "algorithm"),
    "bias": (lambda value: isinstance(value, bool), "true or false is expected", "true, or leave it out"),
    "devices": _COUNT,
    "bandwidth": (
        lambda value: _is_number(value) and value != 0,
        "GB/s of a link, more than 0, are expected",
        "such as 16",
    ),
    "latency": (_is_number, "microseconds, 0 or more, are expected", "such as 1"),
    "sequence": _COUNT,
    "cached": (_is_size, "a whole number from 0 on is expected", "such as 1024"),
    "layers": _COUNT,
    "tensor_parallel": _COUNT,
    "type": _among(TYPES, "type"),
    "attention": _among(ATTENTIONS, "way"),
}
"""What a sweep's ``layer`` (fixed, or as an axis) may choose of a suite."""
KERNELS: Final = "kernels."
"""How keys of ``layer`` begin that choose the workload of an operator's kernels: ``kernels.attention``."""


class SuiteFile(Model):
    """One suite: a network, or a list of items."""

    description: Text
    kind: Annotated[str, one_of(KINDS, "not one of the values that are known here")] = Field(
        description="network: layers (configs/networks); sequence: products; operators; else a list",
        json_schema_extra={"enum": list(KINDS)},
    )
    table: Name = Field(description="its table, without .csv; in configs/networks or beside this file")
    n: int | None = Field(
        None, ge=1, description="images (sequences) of an iteration; layer.n of a sweep overrides a network's"
    )
    source: Text = Field(description="where the table and the batch are from")
    note: Text | None = Field(None, description="what a reader of its numbers must know")
    left_out: Text | None = Field(
        None,
        description="what the source runs and this suite does not or otherwise; printed with its numbers",
    )
    forward_only: bool | list[Text] = Field(
        False, description="of a list: the source measures no backward pass (true), or none of these sets"
    )
    sizes: dict[Annotated[str, StringConstraints(pattern=IDENTIFIER)], int] = Field(
        default_factory=dict,
        description="of operators: values of the names in its table; sequence, cached, layers can be axes",
    )
    divided: ListOf[Name] = Field(
        (), description="of operators: the sizes that the devices of `layer.tensor_parallel` share"
    )
    type: Annotated[str, one_of(TYPES, "no such type")] = Field(
        "float", description="of operators: type of the numbers, float, half or bfloat16"
    )
    kernels: dict[Name, Name] = Field(
        default_factory=dict, description="of operators: a workload of kernels by operator, instead of ours"
    )
    preview: Text | None = Field(
        None,
        description="version of the preview that chose its operations: `apuflow network represent` made it",
    )


def load_suite(name: str, root: Path = Path()) -> Suite:
    """The suite of that name; its table is read when it is first asked for. Raises as load_sweep does."""
    check_name(name, "suite", suite_names(root))
    spec = read(root / paths.suite_file(name), SuiteFile)
    _check_version(spec, name, root)
    of_network = spec.kind in NETWORKS
    table = paths.network_table(spec.table) if of_network else paths.suite_table(spec.table)
    return Suite(
        name,
        spec.description,
        spec.kind,
        root / table,
        spec.n,
        spec.source,
        " ".join((spec.note or "").split()),
        " ".join((spec.left_out or "").split()),
        spec.forward_only if isinstance(spec.forward_only, bool) else tuple(spec.forward_only),
        tuple(spec.sizes.items()),
        spec.divided,
        spec.type,
        tuple(spec.kernels.items()),
    )


_MAKER = "apuflow network represent "
"""How the source of a suite begins that the preview's numbers made."""


def _check_version(spec: SuiteFile, name: str, root: Path) -> None:
    """Refuse a suite that another version of the preview made: that one's numbers chose it."""
    made = spec.preview
    if made == PREVIEW_VERSION or (made is None and not spec.source.startswith(_MAKER)):
        return
    message = f"the suite was made with another version of the preview than {PREVIEW_VERSION}"
    file, remedy = root / paths.suite_file(name), f"make it again: {spec.source} --force"
    raise ConfigError(message, file=file, key="preview", value=made or "no version", remedy=remedy)


def sweep_suites(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's suites; ConfigError for a name or pattern that matches nothing.

    A name or pattern with ``-`` before it leaves suites out.
    """
    known = suite_names(root) if sweep.suites else []
    chosen: list[str] = []
    for entry in sweep.suites:
        pattern = entry.removeprefix("-")
        matches = known if pattern == "all" else fnmatch.filter(known, pattern)
        if not matches:
            file, remedy = root / paths.sweep_file(sweep.name), known_names(pattern, known)
            raise ConfigError("no suite of this name", file=file, key="suites", value=entry, remedy=remedy)
        if entry.startswith("-"):
            chosen = [name for name in chosen if name not in matches]
        else:
            chosen += [name for name in matches if name not in chosen]
    return chosen


def choice_of(values: Mapping[str, Scalar]) -> Choice:
    """What a sweep's ``layer`` values choose of a suite; ConfigError for an unknown key or value."""
    chosen: dict[str, Any] = {}
    kernels = {name.removeprefix(KERNELS): str(v) for name, v in values.items() if name.startswith(KERNELS)}
    chosen["kernels"] = tuple(kernels.items())
    for name, value in values.items():
        if name.startswith(KERNELS):
            continue
        if name not in CHOICES:
            others = (
                f"one of {', '.join(CHOICES)}, {KERNELS}OPERATOR; keys of workloads go below per_workload"
            )
            remedy = f"{meant_key(name, CHOICES)}{others}"
            raise ConfigError("suites have no such key", key=f"layer.{name}", value=value, remedy=remedy)
        fits, message, remedy = CHOICES[name]
        if not fits(value):
            raise ConfigError(message, key=f"layer.{name}", value=value, remedy=remedy)
        if name in ("bandwidth", "latency"):
            value = float(value)
        chosen["group" if name == "set" else name] = str(value) if name in ("set", "op", "steps") else value
    return Choice(**chosen)
