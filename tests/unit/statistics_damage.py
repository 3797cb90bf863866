"""Damage recorded statistics as disks, copies and editors do, and see what becomes of the run's table row.

``PYTHONPATH=.:tests:tests/unit python tests/unit/statistics_damage.py 500 20`` prints a table of that many
damaged files, made from the 20 smallest recorded ones; with ``contradicted`` behind it, digits and objects.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from places import STATS
from run_records import run_record

from apuflow.core.record import Status
from apuflow.engines.simulated import required_rows
from apuflow.run.outcome import ExitFacts, Expectation, classify
from apuflow_analysis.counters.terms import relied_on
from apuflow_analysis.tables import tables

PAGE = 4096
_TRIES = 20
NUMBERS = ("nan", "inf", "-inf", "-1", "0x10", "1e400", "1_000", "<b>1</b>", "9" * 30, "", "1 2")

_OBJECT = re.compile(
    rb"^(system\.(?:cpu\d+\.CUs|ruby\.\w+_cntrl|\w+_tlb|\w+_coalescer|mem_ctrls)\d*)\..*\n", re.M
)

Damage = Callable[[random.Random, bytes], bytes]


@dataclass(frozen=True)
class Verdict:
    """What became of a damaged file.

    Attributes:
        kind: how it was damaged.
        file: which one.
        what: "refused", "same row", "flagged", "different row".
        evidence: why it was refused.
        row: name of the first row that differs.
    """

    kind: str
    file: str
    what: str
    evidence: str = ""
    row: str = ""


def _page(chance: random.Random, text: bytes) -> int:
    """Where a page begins: one of the file system's, or, every third time, anywhere."""
    at = chance.randrange(1, len(text) // PAGE - 1) * PAGE
    return at if chance.randrange(3) else at + chance.randrange(PAGE)


def _nul(chance: random.Random, text: bytes) -> bytes:
    at = _page(chance, text)
    return text[:at] + b"\0" * PAGE + text[at + PAGE :]


def _missing(chance: random.Random, text: bytes) -> bytes:
    at = _page(chance, text)
    return text[:at] + text[at + PAGE :]


def _doubled(chance: random.Random, text: bytes) -> bytes:
    at = _page(chance, text)
    return text[: at + PAGE] + text[at:]


def _replaced(chance: random.Random, text: bytes) -> bytes:
    """A page of the same file stands in place of another."""
    at, other = _page(chance, text), _page(chance, text)
    return text[:at] + text[other : other + PAGE] + text[at + PAGE :]


def _cut(chance: random.Random, text: bytes) -> bytes:
    return text[: chance.randrange(len(text) - 52)]


def _line_gone(chance: random.Random, text: bytes) -> bytes:
    start, stop, _ = _read_row(chance, text)
    return text[:start] + text[text.index(b"\n", stop) + 1 :]


def _twice(chance: random.Random, text: bytes) -> bytes:
    """A counter that stands twice, the second time with another number, somewhere else."""
    start, stop, name = _read_row(chance, text)
    number = b"%d" % chance.randrange(10**6)
    row = max(text[start:stop].ljust(40), name.ljust(40)) + number.rjust(13) + b" " * 22 + b"\n"
    rows = [match.end() for match in re.finditer(rb"\n(?=system)", text)]
    place = rows[chance.randrange(len(rows))]
    return text[:place] + row + text[place:]


def _number(chance: random.Random, text: bytes) -> bytes:
    """A counter that holds no number a counter can hold, right-aligned as gem5 prints them."""
    _, stop, _ = _read_row(chance, text)
    match = re.compile(rb" *[^ \n]+").match(text, stop)
    assert match is not None
    new = b" " + chance.choice(NUMBERS).encode().rjust(match.end() - stop - 1)
    return text[:stop] + new + text[match.end() :]


def _digit(chance: random.Random, text: bytes) -> bytes:
    """A digit of a counter that became another digit."""
    while True:
        _, stop, _ = _read_row(chance, text)
        match = re.compile(rb" *(\d+)").match(text, stop)
        if match is not None:
            at = chance.randrange(match.start(1), match.end(1))
            digit = chance.choice([d for d in b"123456789" if d != text[at]])
            return text[:at] + bytes([digit]) + text[at + 1 :]


def _exchanged(chance: random.Random, text: bytes) -> bytes:
    """The rows of an object stand where those of another run with the same objects had stood."""
    objects = _objects(text)
    donors = [other for other in _others() if other.keys() == objects.keys()]
    name = chance.choice(sorted(objects))
    own = objects[name]
    foreign = [other[name] for other in donors if other[name] != own]
    return text.replace(own, chance.choice(foreign)) if foreign else text


@cache
def _objects(text: bytes) -> dict[bytes, bytes]:
    """The rows of each object that stand together, by its name."""
    objects: dict[bytes, bytes] = {}
    for match in _OBJECT.finditer(text):
        objects[match[1]] = objects.get(match[1], b"") + match[0]
    return {name: rows for name, rows in objects.items() if rows in text}


@cache
def _others() -> list[dict[bytes, bytes]]:
    return [_objects(lzma.decompress(file.read_bytes())) for file in sorted(STATS.glob("*-u[124]*.xz"))]


DAMAGES: dict[str, Damage] = {
    "page of NUL bytes": _nul,
    "page missing": _missing,
    "page twice": _doubled,
    "page in another's place": _replaced,
    "cut": _cut,
    "row of a counter missing": _line_gone,
    "counter twice": _twice,
    "no number in a counter": _number,
}


EXCHANGED = "rows of another run's object"

CONTRADICTED: dict[str, Damage] = {
    "digit became another": _digit,
    EXCHANGED: _exchanged,
}
"""Damage that only relations between rows show: a share of it is silent."""


@cache
def _read_names() -> re.Pattern[bytes]:
    """The rows that tables are made from."""
    names = {name for names, _ in relied_on() for name in names}
    parts = [re.escape(name).replace(r"\*", r"[^\s:]*") for name in sorted(names)]
    return re.compile(rb"^\S*?\.?(?:" + "|".join(parts).encode() + rb")(?= )", re.M)


@cache
def _read_rows(text: bytes) -> list[tuple[int, int, bytes]]:
    return [(match.start(), match.end(), match[0]) for match in _read_names().finditer(text)]


def _read_row(chance: random.Random, text: bytes) -> tuple[int, int, bytes]:
    """Start, end and name of a row that tables are made from."""
    return chance.choice(_read_rows(text))


def verdicts(
    count: int, seed: int, files: list[Path], damages: dict[str, Damage] | None = None
) -> Iterator[Verdict]:
    """Damage the files in turn, in each way in turn; pass over a file that a way cannot damage."""
    chance = random.Random(seed)
    kinds = list((damages or DAMAGES).items())
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            kind, damage = kinds[number % len(kinds)]
            file = files[(number // len(kinds)) % len(files)]
            whole = lzma.decompress(file.read_bytes())
            texts = (damage(chance, whole) for _ in range(_TRIES))
            text = next((text for text in texts if text != whole), None)
            if text is not None:
                yield _verdict(kind, file, whole, text, Path(directory))


def _verdict(kind: str, file: Path, whole: bytes, text: bytes, directory: Path) -> Verdict:
    damaged = directory / "stats.txt"
    damaged.write_bytes(text)
    row_name = _first_difference(whole, text)
    ticks = re.search(rb"finalTick +(\d+)", whole)
    assert ticks is not None
    said = f"Ticks: {ticks[1].decode()}\nExiting because  exiting with last active thread context\n"
    outcome = classify(ExitFacts(0), said, "", damaged, Expectation(required=required_rows()))
    if not outcome.completed:
        assert outcome.status is Status.NO_STATISTICS, outcome
        return Verdict(kind, file.name, "refused", outcome.evidence, row_name)
    row, undamaged = table_row(directory / "run", text), _undamaged(file)
    different = {name for name in row if row[name] != undamaged[name]} - {"flags"}
    what = (
        "same row" if not different else "flagged" if row["flags"] != undamaged["flags"] else "different row"
    )
    return Verdict(kind, file.name, what, f"{sorted(different)} {row['flags']}", row_name)


def _first_difference(whole: bytes, text: bytes) -> str:
    pairs = zip(whole.splitlines(), text.splitlines(), strict=False)
    row = next((was for was, became in pairs if was != became), b"")
    return row.decode().split(" ")[0]


V23_0 = {
    "barrier_slots": 4,
    "keeps_cache_statistics": True,
    "never_counted": [],
    "gem5_version": "23.0.1.0",
}
"""Facts of the release that the files were recorded with (configs/gem5/v23.0.yaml)."""


@cache
def _undamaged(file: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        return table_row(Path(directory), lzma.decompress(file.read_bytes()))


def table_row(directory: Path, text: bytes) -> dict[str, Any]:
    """The row of a completed run with these statistics, unknown numbers as text so that they compare."""
    directory.mkdir(exist_ok=True)
    (directory / "stats.txt").write_bytes(text)
    run = run_record(workload="w", point="p", release="v23.0", release_facts=V23_0, options={}, axes={})
    (directory / "run.json").write_text(json.dumps(run))
    [row] = tables.build([directory]).to_dict("records")
    shutil.rmtree(directory)
    return {str(name): repr(value) for name, value in row.items()}


def _print_shares(found: Sequence[Verdict]) -> None:
    """How many of each kind of row, or of object, gave another row of the table without a flag."""
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        whole = _OBJECT.match(f"{one.row}\n".encode()) if one.kind == EXCHANGED else None
        name = whole[1].decode() if whole else one.row
        kinds.setdefault((one.kind, re.sub(r"\d+", "", name)), Counter())[one.what] += 1
    for (kind, name), whats in sorted(kinds.items()):
        print(f"{kind:<30}{name:<70}{whats['different row']} of {whats.total()}")


if __name__ == "__main__":
    every = sorted(STATS.glob("*.xz"), key=lambda file: file.stat().st_size)
    damages = CONTRADICTED if "contradicted" in sys.argv else DAMAGES
    found = list(verdicts(int(sys.argv[1]), 20261121, every[: int(sys.argv[2])], damages))
    said = Counter((one.kind, one.what) for one in found)
    for (kind, what), number in sorted(said.items()):
        print(f"{kind:<30}{what:<16}{number}")
    print(Counter(one.what for one in found))
    if damages is CONTRADICTED:
        _print_shares(found)
    for one in found:
        if one.what in ("flagged", "different row"):
            print(one)
