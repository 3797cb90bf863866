"""The page of a comparison, for people who maintain gem5: Markdown, or HTML made from it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from html import escape
from typing import Final

from apuflow.answers.answer import OTHER_LAUNCHER
from apuflow.core.markdown import head, row
from apuflow.core.words import many
from apuflow.regress.findings import CounterChange, Findings, InstructionChange
from apuflow.regress.sides import Side

MOST: Final = 60
"""Rows of a table."""
_BAD: Final = ("wrong", "stops")
_URGENT: Final = {"broken": 0, "mended": 1, "otherwise": 2}
"""Instructions that are bad on side B alone, on A alone, and those that changed in another way."""
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    ":root{color-scheme:light dark}code{font-size:90%}table{border-collapse:collapse;display:block;"
    "overflow-x:auto}td,th{border:1px solid #8888;padding:.2em .6em;text-align:left}"
)


def markdown(a: Side, b: Side, found: Findings) -> str:
    """The page in Markdown."""
    lines = [
        f"# gem5's GPU model: {a.name} and {b.name}",
        "",
        *(f"- {letter}: {side.name}: {line}" for letter, side in (("A", a), ("B", b)) for line in side.about),
        "",
        *_summary(found),
    ]
    sections = (
        ("Points that end in another way", _ended(found)),
        ("Counters", _counters(found)),
        ("Instructions", _instructions(found)),
        ("Points of one side alone", _alone(found)),
    )
    for title, content in sections:
        if rows := list(content):
            lines += ["", f"## {title}", "", *rows]
    return "\n".join([*lines, ""])


def html(text: str) -> str:
    """A page in Markdown as one of HTML."""
    from markdown_it import MarkdownIt

    title = escape(text.partition("\n")[0].removeprefix("# "))
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n{body}</body></html>\n"
    )


def _summary(found: Findings) -> Iterator[str]:
    points = many(found.common, "point")
    if found.equal:
        yield f"No difference in {points}: every counter and every compared row of statistics is equal."
    else:
        yield (
            f"{points} compared: {many(len(found.counters), 'counter')} changed, "
            f"{many(len(found.ended), 'point')} ended in another way, "
            f"{_forms(found)}."
        )
        if found.counters and not any(each.is_work for each in found.counters):
            yield "The GPU's work is equal (wavefronts, instructions of each kind)."
        elif found.counters:
            yield "The GPU did other work: an instruction is executed in another way, or other code ran."
        if found.launchers:
            yield (
                f"More than gem5 differs: the launchers of {many(found.launchers, 'point')} do, so "
                f"{OTHER_LAUNCHER}."
            )
        if found.rows:
            told = ", ".join(f"{part} ({many(count, 'point')})" for part, count in found.rows)
            yield f"Statistics differ in these parts of the machine: {told}."
    if found.tables:
        yield f"Tables of instructions compared: {', '.join(found.tables)}."
    else:
        yield "Instructions were not compared: a side has no table of them for the same build."


def _forms(found: Findings) -> str:
    counts = Counter(map(_sense, found.instructions))
    told = ", ".join(f"{counts[sense]} {sense}" for sense in _URGENT if counts[sense])
    return f"{many(len(found.instructions), 'form')} of instructions changed" + (f" ({told})" if told else "")


def _ended(found: Findings) -> Iterator[str]:
    if found.ended:
        yield from head(("point", "A", "B", "what gem5 said"))
        for key, a, b in found.ended:
            yield row((str(key), a.status, b.status, f"`{b.evidence or a.evidence}`"))


def _counters(found: Findings) -> Iterator[str]:
    if found.counters:
        yield "The largest relative change comes first."
        yield ""
        yield from head(("counter", "points", "median", "largest", "A", "B", "of point"))
        for each in found.counters[:MOST]:
            yield row(_cells(each))
        yield from _more(len(found.counters), "counters")


def _cells(each: CounterChange) -> tuple[str, ...]:
    largest = (math.inf if not each.a else each.b / each.a - 1, each.a, each.b)
    points = f"{each.points} of {each.of}"
    return (
        f"`{each.name}`",
        points,
        _percent(each.median),
        _percent(largest[0]),
        *map(_number, largest[1:]),
        str(each.at),
    )


def _instructions(found: Findings) -> Iterator[str]:
    """A row for the forms of an instruction that changed alike, with the one of the fewest words."""
    groups = defaultdict[tuple[str, ...], list[InstructionChange]](list)
    for each in found.instructions:
        groups[*each.form.split()[:2], each.a, each.b].append(each)
    ordered = sorted(groups.values(), key=lambda group: (_URGENT[_sense(group[0])], -len(group)))
    if ordered:
        yield from head(("instruction", "forms", "A", "B", "smallest form", "why"))
        for group in ordered[:MOST]:
            each = min(group, key=lambda one: len(one.form.split()))
            name = " ".join(each.form.split()[:2])
            why = f"`{each.why}`" if each.why else ""
            verdicts = (each.a or "not tried", each.b or "not tried")
            yield row((name, str(len(group)), *verdicts, f"`{each.text}`", why))
        yield from _more(len(ordered), "rows")


def _sense(each: InstructionChange) -> str:
    if each.b in _BAD and each.a not in _BAD:
        return "broken"
    return "mended" if each.b == "right" and each.a in _BAD else "otherwise"


def _alone(found: Findings) -> Iterator[str]:
    for letter, keys in (("A", found.only_a), ("B", found.only_b)):
        if keys:
            told = "; ".join(map(str, keys[:8])) + (f" and {len(keys) - 8} more" if len(keys) > 8 else "")
            yield f"- {letter}: {told}"


def _more(count: int, what: str) -> Iterator[str]:
    if count > MOST:
        yield ""
        yield f"The first {MOST} of {count} {what}; `--json` has all."


def _percent(change: float) -> str:
    return "from 0" if math.isinf(change) else f"{100 * change:+.2f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
