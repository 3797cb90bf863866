"""Kernel rows from a file, in upstream's ``cachefiles.csv`` format: ``program, compile arguments`` per line.

As upstream does, the reader drops ``-mcpu`` and what follows: the database has the GPU architecture.
"""

from __future__ import annotations

import csv
from pathlib import Path

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.miopen.launch import Row
from apuflow.miopen.objects import split_arguments


def read_rows(path: str | Path) -> list[Row]:
    """Distinct rows of a file in order, without blank lines and comments (#).

    Arguments may hold commas (quoted or not) and quotation marks.

    Raises:
        ConfigError: the file cannot be read, or a line is not ``program, arguments``.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read the kernel list: {error}", file=path, remedy="name a CSV file: program, arguments"
        ) from None
    return parse_rows(text, path)


def project_rows(root: Path = Path()) -> list[Row]:
    """Rows of every database of a project (``configs/kernels.csv``); none without that file."""
    path = root / paths.extra_kernels()
    return read_rows(path) if path.exists() else []


def parse_rows(text: str, file: str | Path) -> list[Row]:
    """The rows of a list's text; ``file`` is its name for error messages."""
    rows: dict[tuple[str, str], Row] = {}
    for number, fields in enumerate(_split(text), start=1):
        if fields:
            row = _row(fields, file, number)
            rows.setdefault(row.key, row)
    return list(rows.values())


def _split(text: str) -> list[list[str]]:
    """Fields per line; unlike upstream's reader, an unquoted quotation mark inside arguments is kept."""
    rows: list[list[str]] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            rows.append([])
            continue
        program, comma, arguments = stripped.partition(",")
        if comma and arguments.lstrip().startswith('"'):
            program, *quoted = next(csv.reader([stripped], skipinitialspace=True))
            arguments = ",".join(quoted)
        rows.append([program.strip(), arguments] if comma else [program.strip()])
    return rows


def _row(fields: list[str], path: str | Path, number: int) -> Row:
    program = fields[0]
    if len(fields) < 2 or not program.endswith(".cl") or "/" in program:
        raise ConfigError(
            "not a kernel row",
            file=path,
            key=f"line {number}",
            value=", ".join(fields),
            remedy="write: MIOpenName.cl, -DNAME=value ...",
        )
    row = make_row(program, fields[1])
    try:
        split_arguments(row.arguments)
    except ConfigError as error:
        raise ConfigError(
            error.message, file=path, key=f"line {number}", value=fields[1], remedy=error.remedy
        ) from None
    return row


def make_row(program: str, arguments: str, layer: str = "") -> Row:
    """A row as MIOpen keys it: one leading space, nothing from ``-mcpu`` on."""
    body = arguments.partition("-mcpu")[0].strip()
    return Row(program, f" {body}" if body else "", layer)


def add_rows(path: str | Path, rows: list[Row]) -> int:
    """Append rows that the file lacks; create the file if needed; return how many were added.

    Raises:
        ConfigError: the file holds something else or cannot be written, or a row's arguments cannot be split.
    """
    target = Path(path)
    for row in rows:
        split_arguments(row.arguments)
    present = {row.key for row in read_rows(target)} if target.exists() else set()
    new = [row for row in rows if row.key not in present]
    text = target.read_text(encoding="utf-8") if target.exists() else ""
    if text and not text.endswith("\n"):
        text += "\n"
    text += "".join(f"{format_row(row)}\n" for row in new)
    try:
        write_text(target, text)
    except OSError as error:
        raise ConfigError(
            f"cannot write the kernel list: {error.strerror}", file=path, remedy="make it writable"
        ) from None
    return len(new)


def format_row(row: Row) -> str:
    """A line of the list, in CSV quotes if upstream's reader needs them (commas, quotation marks)."""
    arguments = row.arguments
    if "," in arguments or '"' in arguments:
        arguments = '"' + arguments.replace('"', '""') + '"'
    return f"{row.program},{arguments}"
