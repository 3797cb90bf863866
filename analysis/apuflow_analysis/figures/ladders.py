"""Latency and bandwidth over the bytes in use, a panel for each machine, beside numbers published for GPUs.

Figures have ``x`` as all others do; it has no meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from apuflow.core.engines import is_batch
from apuflow.core.units import format_size
from apuflow_analysis.figures import panels, plot
from apuflow_analysis.figures.axis import FigureError, Where
from apuflow_analysis.figures.selection import completed, engines_of, machine_note
from apuflow_analysis.tables import ladders

LATENCY = "Latency over the bytes of a walk"
BANDWIDTH = "Bandwidth over the bytes in use"
NUMBERS = "Latency and bandwidth of each part"
_GREYS: dict[str, Any] = {"MI100": (0, (1, 1)), "MI210": (0, (4, 1.5)), "MI300X": (0, (4, 1.5, 1, 1.5))}
"""Published GPUs that the panels show, by the look of their lines."""
_DASHES = ("-", (0, (4, 1.6)), (0, (1, 1.2)))
_STREAMS = {"read bandwidth": plot.BLUE, "write bandwidth": plot.VERMILLION, "copy bandwidth": plot.GREEN}
_COLUMNS = (
    *("TCP latency", "TCC latency", "memory latency", "LDS latency"),
    *(
        "TCP read bandwidth",
        "TCC read bandwidth",
        "memory read bandwidth",
        "LDS bandwidth",
        "atomics",
        "launch",
    ),
)
_SPREAD = "grey: published for GPUs with other clocks, links and memories, drawn at this machine's levels"
_LOOP = "a load's cycles include the address arithmetic and the branch of the loop around it"
_NOT_MEASURED = "the preview was not measured on these kernels"


@plot.style()
def latency(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Cycles of a load that needs the one before, over the bytes of the walk; as all figures.

    Raises:
        FigureError: no point of the table measures it.
    """
    rows, notes = _rows(frame, where, ("latency", "latency of inputs"))
    figure, axes, machines = _panels(rows)
    for panel, (name, own) in zip(axes, machines, strict=True):
        for (engine, quantity, stride), line in own.groupby(["engine", "quantity", "stride"], sort=False):
            look = {
                "color": _colour(str(quantity), float(str(stride))),
                "linestyle": _dash(rows, str(engine)),
            }
            panel.plot(line["across"], line["value"], marker="o", **look)
        first = own.iloc[0]
        sizes = {"TCP": first["tcp_bytes"], "TCC": first["tcc_bytes"]}
        if (own["stride"] == ladders.PAGE).any():
            sizes["L1 TLB"] = first["tlb_bytes"]
        _marks(panel, sizes)
        _published_steps(panel, own)
        _size_axis(panel, name)
        panel.set_ylim(bottom=0)
    panels.bottom(axes, "Bytes")
    panels.left(axes, "Cycles of a load")
    plot.legend(figure, [*_latency_legend(rows), *_published_legend()])
    return plot.finish(figure, rows, LATENCY, (*notes, _LOOP, _SPREAD))


def _colour(quantity: str, stride: float) -> str:
    if quantity != "latency":
        return plot.GREEN
    return plot.VERMILLION if stride == ladders.PAGE else plot.BLUE


def _latency_legend(rows: pd.DataFrame) -> Iterator[tuple[str, Artist]]:
    texts = {
        ("latency", ladders.LINE): "line after line",
        ("latency", ladders.PAGE): "a line of each page",
        ("latency of inputs", ladders.LINE): "once, what the CPU wrote",
    }
    for (quantity, stride), text in texts.items():
        if ((rows["quantity"] == quantity) & (rows["stride"] == stride)).any():
            yield text, Line2D([], [], color=_colour(quantity, stride), marker="o")
    yield from _engine_legend(rows)


@plot.style()
def bandwidth(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Bytes per cycle and compute unit, over the bytes that are read, written or copied; as ``latency``."""
    rows, notes = _rows(frame, where, tuple(_STREAMS))
    figure, axes, machines = _panels(rows)
    for panel, (name, own) in zip(axes, machines, strict=True):
        for (engine, quantity), line in own.groupby(["engine", "quantity"], sort=False):
            look = {"color": _STREAMS[str(quantity)], "linestyle": _dash(rows, str(engine))}
            panel.plot(line["across"], line["value"], marker="o", **look)
        first = own.iloc[0]
        tcps = first["num_compute_units"] * first["tcp_bytes"]
        _marks(panel, {"TCPs": tcps, "TCC": first["tcc_bytes"]})
        _size_axis(panel, name)
        panel.set_yscale("log")
        plot.log_ticks(panel.yaxis, *panel.get_ylim())
    panels.bottom(axes, "Bytes")
    panels.left(axes, "B per cycle and CU")
    entries = [
        (name.removesuffix(" bandwidth"), Line2D([], [], color=colour, marker="o"))
        for name, colour in _STREAMS.items()
        if (rows["quantity"] == name).any()
    ]
    plot.legend(figure, [*entries, *_engine_legend(rows)])
    return plot.finish(figure, rows, BANDWIDTH, (*notes, "copy counts what is read and what is written"))


@plot.style()
def numbers(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Latency and bandwidth of each part of each machine, and below them those of GPUs; as ``latency``."""
    rows, notes = _rows(frame, where, None)
    data = pd.concat([_machine_numbers(rows), _published_numbers()], ignore_index=True)
    table = [
        [str(source), *(_text(own, name) for name in _COLUMNS)]
        for source, own in data.groupby("of", sort=False)
    ]
    units = {name: "cycle" if "latency" in name or name == "launch" else "B/cycle/CU" for name in _COLUMNS}
    units["atomics"] = "1/cycle"
    heads = [f"{name} ({units[name]})" for name in _COLUMNS]
    figure = plot.text_table(["", *heads], table, [0.2, *[0.08] * len(_COLUMNS)])
    sources = dict.fromkeys(f"{row['of']}: {row['source']}" for _, row in data.iterrows() if row["source"])
    return plot.finish(figure, data, NUMBERS, (*notes, _LOOP, *sources))


def _machine_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    found = []
    for (machine, engine, release), own in rows.groupby(["machine", "engine", "release"], sort=False):
        for quantity, value in ladders.levels(own).items():
            of = f"{machine}, {engine} {release}"
            found.append({"of": of, "quantity": quantity, "value": value, "source": ""})
    return pd.DataFrame(found, columns=["of", "quantity", "value", "source"])


def _published_numbers() -> pd.DataFrame:
    """Of each GPU and source; a stated peak of the memory stands where a measured one would."""
    frame = ladders.published().dropna(subset=["converted"])
    found = []
    for _, row in frame[frame["operation"] != "write"].iterrows():
        read = "read " if row["quantity"] == "bandwidth" and row["level"] != "LDS" else ""
        of = f"{row['gpu']} ({row['kind']})"
        quantity = f"{row['level']} {read}{row['quantity']}"
        found.append({"of": of, "quantity": quantity, "value": row["converted"], "source": row["source"]})
    return pd.DataFrame(found)


def _text(own: pd.DataFrame, quantity: str) -> str:
    value = own.loc[own["quantity"] == quantity, "value"]
    if value.empty:
        return "–"
    number = float(value.iloc[0])
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _rows(
    frame: pd.DataFrame, where: Where, quantities: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """What the table's points measured of some quantities (None: of all), in the order of the axis."""
    done, notes = completed(frame, where)
    found = ladders.measured(done) if set(ladders.SAME) <= set(done.columns) else pd.DataFrame()
    if len(found) and quantities is not None:
        found = found[found["quantity"].isin(quantities)]
    if found.empty:
        remedy = "a sweep with workloads: [ladder_*]"
        raise FigureError("no point measures this", key="workload", value="none", remedy=remedy)
    engines = engines_of(done)
    notes = [machine_note(done, engines), *([_NOT_MEASURED] if any(map(is_batch, engines)) else []), *notes]
    return found.sort_values(["machine", "across"], kind="stable").reset_index(drop=True), notes


def _panels(rows: pd.DataFrame) -> tuple[Any, list[Axes], list[tuple[str, pd.DataFrame]]]:
    machines = [(str(name), own) for name, own in rows.groupby("machine", sort=False)]
    figure, axes = panels.grid(len(machines), share_x=False, share_y=True, height=2.0)
    return figure, axes, machines


def _dash(rows: pd.DataFrame, engine: str) -> Any:
    return _DASHES[list(dict.fromkeys(rows["engine"])).index(engine) % len(_DASHES)]


def _engine_legend(rows: pd.DataFrame) -> Iterator[tuple[str, Artist]]:
    engines = list(dict.fromkeys(rows["engine"]))
    for engine in engines if len(engines) > 1 else []:
        yield engine, Line2D([], [], color="#444444", linestyle=_dash(rows, engine))


def _marks(panel: Axes, sizes: Mapping[str, float]) -> None:
    """A line for each size, with the names of all parts that have it."""
    look: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "rotation": 90, "fontsize": 6}
    for size in dict.fromkeys(sizes.values()):
        panel.axvline(size, color="#bbbbbb", linewidth=0.8, zorder=0)
        label = f"{', '.join(name for name in sizes if sizes[name] == size)} {format_size(int(size))}"
        panel.annotate(label, (size, 0.98), ha="right", va="top", color="#777777", **look)


def _size_axis(panel: Axes, name: str) -> None:
    panel.set_title(name)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_locator(LogLocator(base=4, numticks=20))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_size(int(size))))
    panel.tick_params(axis="x", rotation=90)


def _published_steps(panel: Axes, own: pd.DataFrame) -> None:
    """The latency of each level of the published GPUs, over the bytes that this machine's level holds."""
    first, low, high = own.iloc[0], float(own["across"].min()), float(own["across"].max())
    tcp, tcc = (min(high, float(first[name])) for name in ("tcp_bytes", "tcc_bytes"))
    frame = ladders.published()
    frame = frame[(frame["quantity"] == "latency") & (frame["unit"] == "cycle")]
    for level, start, end in (("TCP", low, tcp), ("TCC", tcp, tcc), ("memory", tcc, high)):
        of_level = frame[frame["level"] == level].set_index("gpu")["value"]
        for gpu, dash in _GREYS.items() if end > start else ():
            look: dict[str, Any] = {"color": "#888888", "linestyle": dash, "linewidth": 0.9, "zorder": 0}
            panel.hlines(of_level[gpu], start, end, **look)


def _published_legend() -> Iterator[tuple[str, Artist]]:
    for gpu, dash in _GREYS.items():
        yield f"{gpu}, measured", Line2D([], [], color="#888888", linestyle=dash)
