"""Kernel rows from a file, in upstream's ``cachefiles.csv`` format: ``program, compile arguments`` per line.

As upstream does, the reader drops ``-mcpu`` and what follows: the database has the GPU architecture.
"""

from __future__ import annotations

import csv
from pathlib import Path

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.miopen.compiler import split_arguments
from apuflow.miopen.derive import distinct
from apuflow.miopen.launch import Row


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
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1))
    return list(distinct(_row(line, file, number) for number, line in lines if line and line[0] != "#"))


def _row(line: str, file: str | Path, number: int) -> Row:
    """One line; unlike upstream's reader, an unquoted quotation mark inside arguments is kept."""
    program, comma, arguments = line.partition(",")
    if arguments.lstrip().startswith('"'):
        program, *quoted = next(csv.reader([line], skipinitialspace=True))
        arguments = ",".join(quoted)
    program = program.strip()
    if not comma or not program.endswith(".cl") or "/" in program:
        raise ConfigError(
            "not a kernel row",
            file=file,
            key=f"line {number}",
            value=f"{program}, {arguments}" if comma else program,
            remedy="write: MIOpenName.cl, -DNAME=value ...",
        )
    row = make_row(program, arguments)
    try:
        split_arguments(row.arguments)
    except ConfigError as error:
        raise ConfigError(
            error.message, file=file, key=f"line {number}", value=arguments, remedy=error.remedy
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
