"""Times that were measured on a real GPU, from a CSV file in one of two forms.

``workload, parameters, time_UNIT``: a workload of ``configs/workloads``, its parameters as ``n=1024 taps=8``,
the time in ns, us, ms or s. ``kernel_name, problem_size, avg_ms``: what the programs of MGPUSim's
``gpu_perf_scripts`` write; ``gpu_perf_scripts.csv`` says which workload and parameters a name and size are.
Other columns are not read.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.configure.base import did_you_mean, listing
from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate

SECONDS: Final = {"time_ns": 1e-9, "time_us": 1e-6, "time_ms": 1e-3, "time_s": 1.0}
"""Columns of times, and a unit of each in seconds."""
_OWN = ("workload", "parameters")
_SCRIPTS = ("kernel_name", "problem_size", "avg_ms")
_FORMS: Final = f"{', '.join(_OWN)} and one of {', '.join(SECONDS)}; or {', '.join(_SCRIPTS)}"
_KNOWN = Path(__file__).with_name("gpu_perf_scripts.csv")


class Measurement(NamedTuple):
    """One measured time.

    Attributes:
        kernel, size: as the file names them.
        workload: that computes the same; "": none does, ``host`` says why.
        host: what the host does inside of the measured time beside launching kernels; "": nothing.
    """

    kernel: str
    size: str
    workload: str
    parameters: Mapping[str, int]
    seconds: float
    host: str = ""


class _Size(NamedTuple):
    """A name of ``gpu_perf_scripts``: how its sizes are written, and what they mean."""

    pattern: re.Pattern[str]
    shape: str
    workload: str
    parameters: str
    host: str


def read(file: Path) -> list[Measurement]:
    """The measurements of a file, in its order.

    Raises:
        ConfigError: no such file, other columns or units, a row without a size or time, a size or kernel that
            is not known, or two rows of the same size.
    """
    try:
        with file.open(newline="", encoding="utf-8") as text:
            reader = csv.DictReader(text)
            header = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = header
            parse = _parser(header, file)
            found = [_row(parse, row, file, reader.line_num) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(
            f"cannot read measured times: {error}", file=file, remedy="name a CSV file"
        ) from None
    if not found:
        raise ConfigError("no measured time", file=file, remedy=f"rows below the columns {_FORMS}")
    _refuse_duplicates(found, file)
    return [measured for measured, _ in found]


_Parser = Callable[[Mapping[str, str], str], Measurement]


def _parser(header: Sequence[str], file: Path) -> _Parser:
    times = [name for name in header if name in SECONDS]
    if {*_SCRIPTS} <= {*header}:
        return _of_scripts
    if {*_OWN} <= {*header} and len(times) == 1:
        return lambda row, where: _own(row, where, times[0])
    wrong = "a time in another unit, or in several" if {*_OWN} <= {*header} else "other columns"
    raise ConfigError(
        wrong, file=f"{file}:1", key="columns", value=", ".join(header), remedy=f"columns {_FORMS}"
    )


def _row(parse: _Parser, row: Mapping[str, str], file: Path, line: int) -> tuple[Measurement, int]:
    where = f"{file}:{line}"
    return parse(
        {name: (text or "").strip() for name, text in row.items() if isinstance(name, str)}, where
    ), line


def _own(row: Mapping[str, str], where: str, unit: str) -> Measurement:
    workload, text = row["workload"], row["parameters"]
    if not workload:
        raise ConfigError("no workload", file=where, key="workload", value="", remedy="name a workload")
    if not text:
        remedy = "its parameters, as n=1024 taps=8"
        raise ConfigError("the size is missing", file=where, key="parameters", value="", remedy=remedy)
    parameters = {}
    for part in text.split():
        name, equals, number = part.partition("=")
        if not equals or not re.fullmatch(r"-?\d+", number) or name in parameters:
            remedy = "whole numbers, each once, as n=1024 taps=8"
            raise ConfigError("not parameters", file=where, key="parameters", value=text, remedy=remedy)
        parameters[name] = int(number)
    return Measurement(workload, text, workload, parameters, _seconds(row[unit], SECONDS[unit], where, unit))


def _of_scripts(row: Mapping[str, str], where: str) -> Measurement:
    kernel, size = row["kernel_name"], row["problem_size"]
    known = _sizes()
    if kernel not in known:
        remedy = (
            f"{did_you_mean(kernel, known)}known: {listing(known)}; or columns {', '.join(_OWN)} and a time"
        )
        raise ConfigError(
            "no workload computes this kernel", file=where, key="kernel_name", value=kernel, remedy=remedy
        )
    form = known[kernel]
    if not size:
        remedy = f"a size as {form.shape}"
        raise ConfigError("the size is missing", file=where, key="problem_size", value="", remedy=remedy)
    names = form.pattern.fullmatch(size)
    if names is None:
        raise ConfigError(
            "not a size of this kernel",
            file=where,
            key="problem_size",
            value=size,
            remedy=f"written as {form.shape}",
        )
    numbers = {name: int(text) for name, text in names.groupdict().items()}
    pairs = (part.split("=") for part in form.parameters.split())
    parameters = {name: evaluate(expression, numbers, "problem_size") for name, expression in pairs}
    seconds = _seconds(row["avg_ms"], 1e-3, where, "avg_ms")
    return Measurement(kernel, size, form.workload, parameters, seconds, form.host)


def _seconds(text: str, unit: float, where: str, key: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise ConfigError(
            "not a time", file=where, key=key, value=text, remedy="a number above 0, without a unit"
        )
    return number * unit


@cache
def _sizes() -> Mapping[str, _Size]:
    with _KNOWN.open(newline="", encoding="utf-8") as text:
        return {row["kernel_name"]: _size(row) for row in csv.DictReader(text)}


def _size(row: Mapping[str, str]) -> _Size:
    pattern, seen = "", set[str]()
    for plain, name in re.findall(r"([^{]*)(?:\{(\w+)\})?", row["problem_size"]):
        pattern += re.escape(plain)
        if name:
            pattern += f"(?P={name})" if name in seen else rf"(?P<{name}>\d+)"
            seen.add(name)
    return _Size(re.compile(pattern), row["problem_size"], row["workload"], row["parameters"], row["host"])


def _refuse_duplicates(found: Sequence[tuple[Measurement, int]], file: Path) -> None:
    lines: dict[tuple[object, ...], int] = {}
    for measured, line in found:
        key = (measured.workload or measured.kernel, measured.size, *sorted(measured.parameters.items()))
        if measured.workload:
            key = (measured.workload, *sorted(measured.parameters.items()))
        if key in lines:
            raise ConfigError(
                f"the same size as in line {lines[key]}",
                file=f"{file}:{line}",
                key="size",
                value=f"{measured.kernel} {measured.size}",
                remedy="keep one row, or say in the size what differs",
            )
        lines[key] = line


def workloads(measured: Sequence[Measurement]) -> Iterator[str]:
    """The workloads that the measurements are of, each once, in their order."""
    yield from dict.fromkeys(one.workload for one in measured if one.workload)
