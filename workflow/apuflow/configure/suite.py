"""The file of a suite (``configs/suites/<name>.yaml``), the suites of a sweep, and what it runs of each."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import Field

from apuflow.configure.base import Model, Name, Text, check_name, did_you_mean, listing, read
from apuflow.configure.loading import suite_names
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites.step import ALGORITHMS, PASSES, Algorithm, Choice, Passes
from apuflow.suites.suite import NETWORK, SEQUENCE, Suite

_Word = TypeVar("_Word", bound=str)
CHOICES: Final = (
    "n",
    "image",
    "direction",
    "set",
    "subset",
    "op",
    "algorithm",
    "bias",
    "devices",
    "bandwidth",
    "latency",
)
"""What a sweep's ``layer`` (fixed, or as an axis) may choose of a suite."""


class SuiteFile(Model):
    """One suite: a network, or a list of items."""

    description: Text
    kind: Literal[
        "network",
        "sequence",
        "gemm",
        "sparse",
        "convolution",
        "layer_convolution",
        "recurrent",
        "all_reduce",
        "pooling",
        "fully_connected",
        "activation",
        "batchnorm",
        "batchnorm_inference",
        "memory",
        "operations",
    ] = Field(
        description="network: layers (configs/networks); sequence: products (there); else a list of items"
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
    preview: Text | None = Field(
        None, description="version of the preview that chose its operations, where `apuflow statsnet` made it"
    )


def load_suite(name: str, root: Path = Path()) -> Suite:
    """The suite of that name; its table is read when it is first asked for.

    Raises:
        ConfigError: no such suite (the message lists the known ones), or a mistake in its file.
    """
    check_name(name, "suite", suite_names(root))
    spec = read(root / paths.suite_file(name), SuiteFile)
    _check_version(spec, name, root)
    of_network = spec.kind in (NETWORK, SEQUENCE)
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
    )


_MAKER = "apuflow statsnet "
"""How the source of a suite begins that the preview's numbers made."""


def _check_version(spec: SuiteFile, name: str, root: Path) -> None:
    """Refuse a suite that another version of the preview made: that one's numbers chose it."""
    made = spec.preview
    if made == PREVIEW_VERSION or (made is None and not spec.source.startswith(_MAKER)):
        return
    raise ConfigError(
        f"the suite was made with another version of the preview than {PREVIEW_VERSION}",
        file=root / paths.suite_file(name),
        key="preview",
        value=made or "no version",
        remedy=f"make it again: {spec.source} --force",
    )


def sweep_suites(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's suites. A name or pattern with ``-`` before it leaves suites out.

    Raises:
        ConfigError: a name or pattern that matches nothing.
    """
    known = suite_names(root) if sweep.suites else []
    chosen: list[str] = []
    for entry in sweep.suites:
        pattern = entry.removeprefix("-")
        matches = known if pattern == "all" else fnmatch.filter(known, pattern)
        if not matches:
            raise ConfigError(
                "no suite of this name",
                file=root / paths.sweep_file(sweep.name),
                key="suites",
                value=entry,
                remedy=f"{did_you_mean(pattern, known)}known: {listing(known)}",
            )
        if entry.startswith("-"):
            chosen = [name for name in chosen if name not in matches]
        else:
            chosen += [name for name in matches if name not in chosen]
    return chosen


def choice_of(values: Mapping[str, Scalar]) -> Choice:
    """What a sweep's ``layer`` values choose of a suite.

    Raises:
        ConfigError: an unknown key, or a value that it cannot have.
    """
    for name, value in values.items():
        if name not in CHOICES:
            raise ConfigError(
                "suites have no such key",
                key=f"layer.{name}",
                value=value,
                remedy=f"{did_you_mean(name, CHOICES)}one of {', '.join(CHOICES)}; "
                "keys of workloads stand under per_workload",
            )
    whole = {name: _count(name, values[name]) for name in _WHOLE if name in values}
    passes: Passes = _one_of("direction", values, PASSES, "both")
    algorithm: Algorithm = _one_of("algorithm", values, ALGORITHMS, "gemm")
    words = {name: str(values[name]) for name in ("set", "op") if name in values}
    ring = {name: _number(name, values[name]) for name in _RING if name in values}
    return Choice(
        whole.get("n"),
        whole.get("image"),
        passes,
        words.get("set"),
        whole.get("subset"),
        words.get("op"),
        algorithm,
        _yes_or_no("bias", values),
        whole.get("devices", 1),
        **ring,
    )


def _one_of(name: str, values: Mapping[str, Scalar], known: tuple[_Word, ...], default: _Word) -> _Word:
    given = values.get(name, default)
    for word in known:
        if given == word:
            return word
    raise ConfigError(
        f"no such {name}", key=f"layer.{name}", value=given, remedy=f"one of {', '.join(known)}"
    )


def _yes_or_no(name: str, values: Mapping[str, Scalar]) -> bool:
    given = values.get(name, False)
    if not isinstance(given, bool):
        raise ConfigError(
            "true or false is expected", key=f"layer.{name}", value=given, remedy="true, or leave it out"
        )
    return given


_WHOLE = ("n", "image", "subset", "devices")
_RING = {
    "bandwidth": ("GB/s of a link, more than 0, are expected", "such as 16"),
    "latency": ("microseconds, 0 or more, are expected", "such as 1"),
}


def _number(name: str, value: Scalar) -> float:
    number = -1.0 if isinstance(value, bool | str) else float(value)
    if not 0 <= number < math.inf or (name == "bandwidth" and number == 0):
        expected, remedy = _RING[name]
        raise ConfigError(expected, key=f"layer.{name}", value=value, remedy=remedy)
    return number


def _count(name: str, value: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(
            "a whole number from 1 on is expected", key=f"layer.{name}", value=value, remedy="such as 16"
        )
    return value
