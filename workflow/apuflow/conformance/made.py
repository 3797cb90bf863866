"""The table of a release from what came out of its suite."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from apuflow.conformance.run import Judged
from apuflow.forms.features import AT_RUN_TIME
from apuflow.forms.form import Form
from apuflow.forms.table import WEIGHT, Row, Table

_CHATTER: Final = re.compile(r"^gem5\.\w+: |\[with .*\]|panic condition .* occurred: | \(at tick \d+\)")
"""What makes gem5's messages long."""


def _weight(each: Judged) -> tuple[int, bool]:
    return WEIGHT.index(each.verdict), each.failure is not None and not each.failure.special


def worst(found: Iterable[Judged]) -> list[Judged]:
    """Of each form the case that decides its verdict."""
    by_form: dict[Form, Judged] = {}
    for each in found:
        before = by_form.setdefault(each.form, each)
        if _weight(each) > _weight(before):
            by_form[each.form] = each
    return list(by_form.values())


def of_judged(found: Iterable[Judged], source: Callable[[Form], str], about: str = "") -> Table:
    """The table of what came out of a suite; ``source``: gem5's function of a form."""
    by_instruction = defaultdict[tuple[str, str], list[Judged]](list)
    deciding = worst(found)
    for each in deciding:
        by_instruction[each.form[:2]].append(each)
    rows = [row for _, some in sorted(by_instruction.items()) for row in _rows(some, source)]
    return Table(tuple(rows), about, counted(deciding))


def counted(deciding: Iterable[Judged]) -> Mapping[str, Mapping[str, int]]:
    """Numbers of forms by encoding and verdict."""
    found = Counter((each.form.encoding, each.verdict) for each in deciding)
    encodings = dict.fromkeys(encoding for encoding, _ in found)
    return {each: {verdict: found[each, verdict] for verdict in WEIGHT} for each in encodings}


def _rows(some: Sequence[Judged], source: Callable[[Form], str]) -> Iterator[Row]:
    """The rows of an instruction."""
    encoding, instruction = some[0].form[:2]
    right = [each.form for each in some if each.verdict == "right"]
    bad_rows = list(_bad(some, source))
    if right:
        yield Row(encoding, instruction, "right", frozenset(word for form in right for word in form.features))
    for form in right:
        words = frozenset(form.features)
        if not words & AT_RUN_TIME and any(row.certain and row.features < words for row in bad_rows):
            yield Row(encoding, instruction, "right", words)
    yield from bad_rows


def _bad(some: Sequence[Judged], source: Callable[[Form], str]) -> Iterator[Row]:
    """The rows of an instruction with which it is not right."""
    for verdict in WEIGHT[1:]:
        bad = sorted(
            (each for each in some if each.verdict == verdict),
            key=lambda each: (len(_words(each)), bool(each.taken_from)),
        )
        least: list[Judged] = []
        for each in bad:
            if not any(_words(other) <= _words(each) for other in least):
                least.append(each)
        for each in least:
            yield _row(each, source)


def _row(each: Judged, source: Callable[[Form], str]) -> Row:
    wrong = each.failure
    return Row(
        each.form.encoding,
        each.form.instruction,
        each.verdict,
        _words(each),
        each.text,
        wrong.place if wrong else "",
        _short(wrong.inputs if wrong else "", 100),
        _short(wrong.got if wrong else "", 60),
        _short(wrong.expected if wrong else "", 60),
        wrong.lanes if wrong else "",
        _short(_CHATTER.sub("", each.message), 120),
        source(each.form) if each.verdict != "unknown" else "",
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _words(each: Judged) -> frozenset[str]:
    """The words of a form, and ``special`` where nothing else is wrong."""
    words = frozenset(each.form.features)
    return words | {"special"} if each.failure is not None and each.failure.special else words
