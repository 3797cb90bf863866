"""``apuflow list``: everything that has a name, and what each thing is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import typer

from apuflow.commands import START, group, listed
from apuflow.commands.complete import names_of
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ConfigError

listing = group(
    "list", START, "Everything that has a name: workloads, layer keys, machines, options, metrics."
)


@dataclass(frozen=True)
class _Noun:
    """One list.

    Attributes:
        purpose: its help.
        rows: all of it; the first column has the names.
        unseen: columns that only JSON and CSV have.
        details: everything about one name as text; None: its row.
        keys: its layer keys by name, shown below the details.
        steps: of one name what JSON and CSV have in place of its row.
        note: what the columns do not say themselves.
    """

    purpose: str
    rows: Callable[[listed.Mistakes], list[listed.Row]]
    unseen: tuple[str, ...] = ()
    details: Callable[[str], str] | None = None
    keys: Callable[[str], list[listed.Row]] | None = None
    steps: Callable[[str], list[listed.Row]] | None = None
    note: str = ""


_NOUNS = {
    "workloads": _Noun(
        "Workloads: what each needs, which engines can run it; of one, its layer keys too.",
        listed.workloads,
        details=listed.workload_details,
        keys=listed.workload_keys,
        note="yes: tested upstream or nothing against it   unproven: nothing known for or against   "
        "no: fails.  apuflow list workloads NAME says why.",
    ),
    "operations": _Noun(
        "Layers of DNNMark and operations beyond them; of one, its layer keys.",
        listed.operations,
        unseen=("kernels",),
        keys=listed.workload_keys,
        note="apuflow list operations NAME has the layer keys of one.",
    ),
    "keys": _Noun(
        "Layer keys: meaning, values, default.",
        listed.keys,
        note="A key without default must be given. apuflow list workloads NAME has a workload's own values.",
    ),
    "networks": _Noun(
        "Networks: the suites whose steps form an iteration.",
        listed.networks,
        details=listed.suite_details,
        steps=listed.suite_steps,
        note="steps: of all directions; distinct: operations, a point each.",
    ),
    "suites": _Noun(
        "Networks and benchmark suites: what each is, how much of it engines run.",
        listed.suites,
        details=listed.suite_details,
        steps=listed.suite_steps,
        note="steps: of all directions; distinct: operations, a point each. "
        "apuflow list suites NAME says what is not run and why.",
    ),
    "machines": _Noun(
        "Machines: GPU, compute units, options.", listed.machines, details=listed.machine_details
    ),
    "sweeps": _Noun(
        "Sweeps: engines, axes, workloads.",
        listed.sweeps,
        unseen=("workloads", "suites"),
        note="apuflow plan NAME has the points of one.",
    ),
    "studies": _Noun(
        "Published studies that can be repeated.",
        listed.studies,
        unseen=("source",),
        note="apuflow reproduce NAME repeats one.",
    ),
    "releases": _Noun("Releases of gem5, with their GPUs.", listed.releases, unseen=("known_by",)),
    "options": _Noun(
        "Options of apu_se.py: values, default, meaning. Each can be an axis.",
        listed.options,
        unseen=("group",),
    ),
    "metrics": _Noun(
        "Metrics, counters, quantities of formulas.", listed.metrics, unseen=("formula", "caveat", "source")
    ),
    "figures": _Noun("Figures: what each shows and needs.", listed.figures),
}


def _add(plural: str, noun: _Noun) -> None:
    @listing.command(plural, help=noun.purpose)
    def command(
        name: str = typer.Argument(
            "", help="show everything about this one", autocompletion=names_of(noun.rows)
        ),
        as_json: Json = False,
        csv: Csv = None,
    ) -> None:
        if name and noun.details is not None:
            text = noun.details(name)
            own = noun.keys or noun.steps
            rows = own(name) if own else _named(name, noun)
            give(rows, as_json, csv, lambda: _show_details(text, rows if noun.keys else []))
        elif name:
            found = _named(name, noun)
            rows = noun.keys(next(iter(found[0].values()))) if noun.keys else found
            text = "\n\n".join(map(_as_text, found))
            give(rows, as_json, csv, lambda: _show_details(text, rows if noun.keys else []))
        else:
            mistakes = listed.Mistakes()
            rows = noun.rows(mistakes)
            give(rows, as_json, csv, lambda: _show(rows, noun))
            _complain(rows, mistakes)


def _named(name: str, noun: _Noun) -> list[listed.Row]:
    """The rows of a name, whatever its case and dashes. Raises ConfigError: there is none."""
    from apuflow.configure.base import check_name

    rows = noun.rows(listed.Mistakes())
    column = next(iter(rows[0]), "") if rows else "name"

    def plain(text: str) -> str:
        return text.lower().replace("-", "_")

    exact = [row for row in rows if row[column] == name]
    found = exact or [row for row in rows if plain(str(row[column])) == plain(name)]
    if not found:
        check_name(name, column, dict.fromkeys(str(row[column]) for row in rows))
    return found


def _complain(rows: Sequence[listed.Row], mistakes: Sequence[ConfigError]) -> None:
    from apuflow.configure.base import together

    if mistakes:
        raise together(mistakes)
    if not rows:
        remedy = "run it in the project's directory, beside configs/"
        raise ConfigError("there is nothing of this kind here", remedy=remedy)


def _show(rows: Sequence[listed.Row], noun: _Noun) -> None:
    _table(rows, noun.unseen)
    if noun.note:
        print(f"\n{noun.note}")


def _show_details(text: str, keys: Sequence[listed.Row]) -> None:
    print(text)
    if keys:
        print("\nlayer keys:")
        _table(keys)


def _as_text(row: listed.Row) -> str:
    return "\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in row.items() if value != "")


def _table(rows: Sequence[listed.Row], unseen: Sequence[str] = ()) -> None:
    """Rows as a table whose column ``what`` is the last and takes several lines."""
    from apuflow.core.terminal import number, table_of, terminal_console

    names = [name for name in rows[0] if name not in (*unseen, "what")] if rows else []
    numbers = [name for name in names if isinstance(rows[0][name], (int, float))]
    texts = [name for name in names if name not in numbers]
    table = table_of(texts[:1], numbers, (*texts[1:], "what"))
    for row in rows:
        cells = [str(row[texts[0]]), *(number(row[name]) for name in numbers)]
        table.add_row(*cells, *(str(row[name]) if row[name] != "" else "-" for name in (*texts[1:], "what")))
    terminal_console().print(table)


for _plural, _noun in _NOUNS.items():
    _add(_plural, _noun)
