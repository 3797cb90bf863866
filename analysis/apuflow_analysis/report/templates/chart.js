// The chart: any quantity over any axis, one line per workload; hover or arrow keys read values, buttons hide lines.

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "var(--ink)", "#7a7a7a"];
const DASHES = ["", "6 3", "2 2.5", "8 3 2 3"];
const FIRST_LINES = 8;
const MOST_LINES = 40;
const SPEEDUP = "speedup";
const LENGTHS = ["gpu_cycles", "gpu_time", "gpu_active_ticks"];
const WIDE = { width: 860, height: 430, left: 76, right: 18, top: 14, bottom: 52 };
const NARROW = { width: 430, height: 360, left: 70, right: 8, top: 10, bottom: 50 };

// Returns a function that tells what the reader has set, which `saved` restores.
function buildChart(root, data, saved) {
  const numbers = data.columns.filter((column) => column.numeric && (column.kind === "metric" || column.kind === "counter"));
  const axes = data.columns.filter((column) => column.axis && !("constant" in column));
  const byName = new Map(data.columns.map((column) => [column.name, column]));
  if (!numbers.length || !axes.length) {
    root.append(element("p", {}, axes.length ? "No point has numbers to draw." : "Nothing varies in this sweep; the table has its numbers."));
    return () => ({});
  }
  const time = byName.get("gpu_time") || byName.get("gpu_cycles");
  const quantities = [...(time ? [[SPEEDUP, "speedup"]] : []), ...numbers.map((column) => [column.name, column.label])];
  const known = (name, among) => (among.some((one) => one === name) ? name : null);
  const firstX = known(data.chart.x, axes.map((column) => column.name)) || axes[0].name;
  const state = {
    x: known(saved.x, axes.map((column) => column.name)) || firstX,
    y: known(saved.y, quantities.map((entry) => entry[0])) || (time ? SPEEDUP : numbers[0].name),
    logX: saved.logX !== false, logY: saved.logY !== false,
    hidden: Array.isArray(saved.hidden) ? new Set(saved.hidden) : null,
    held: Array.isArray(saved.held) ? new Map(saved.held.filter((entry) => byName.has(entry[0]))) : null, ranks: null, at: null,
  };
  const low = byName.get("gpu_cycles_low"), high = byName.get("gpu_cycles_high");
  const plot = element("div", { class: "plot" });
  const tip = element("div", { class: "tip", hidden: true });
  const spoken = element("p", { class: "hidden", role: "status" });
  const toggles = element("div", { class: "toggles", role: "group", "aria-label": "Lines" });
  const held = element("div", { class: "controls" });
  let places = [];
  let frame = WIDE;

  function lines() {
    const x = byName.get(state.x);
    const keys = ["engine", "workload", ...axes.map((column) => column.name)].filter((name) => name !== state.x);
    const varying = keys.map((name) => byName.get(name)).filter((column) => column && !("constant" in column));
    const dependent = new Set(varying.filter((column) => follows(column, x)).map((column) => column.name));
    const used = varying.filter((column) => !dependent.has(column.name) && !(state.held || new Map()).has(column.name));
    const found = new Map();
    for (const row of indices(data.rows)) {
      if (valueAt(byName.get("status"), row) !== "completed" || !kept(row)) continue;
      const name = used.map((column) => (column.axis ? column.label + " " : "") + format(valueAt(column, row))).join(", ") || "all points";
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(row);
    }
    return [...found.entries()].map(([name, rows]) => {
      rows.sort((a, b) => compare(sizeAt(x, a), sizeAt(x, b)));
      const points = rows.map((row) => ({ row: row, x: place(x, row), text: format(valueAt(x, row)), ...height(rows[0], row) }));
      return { name: name, points: points.filter((point) => point.x !== null && point.y !== null) };
    }).filter((line) => line.points.length);
  }

  function kept(row) {
    return [...(state.held || [])].every(([name, wanted]) => {
      const value = valueAt(byName.get(name), row);
      return value === null || String(value) === wanted;
    });
  }

  // Of many axes, the least important stand at one value until the reader chooses; a sweep may have said which.
  function holds() {
    const x = byName.get(state.x);
    const others = axes.filter((column) => column !== x && !follows(column, x));
    if (state.held === null) {
      state.held = new Map();
      const ranks = new Map(data.chart.others.map((other, index) => [other.name, index]));
      const places = new Map(data.chart.others.map((other) => [other.name, other]));
      const least = [...others].sort((a, b) => (ranks.get(b.name) ?? 99) - (ranks.get(a.name) ?? 99));
      for (const column of least) {
        const other = places.get(column.name);
        if (!(other && other.held && state.x === firstX) && lines().length <= MOST_LINES) continue;
        state.held.set(column.name, other && other.value !== null ? String(other.value) : values(column)[0]);
      }
    }
    return others.map((column) => labelled(column.label, selectOf([["", "all"], ...values(column).map((text) => ["=" + text, text])], state.held.has(column.name) ? "=" + state.held.get(column.name) : "", (wanted) => {
      if (wanted === "") state.held.delete(column.name); else state.held.set(column.name, wanted.slice(1));
      state.hidden = null;
      draw();
    })));
  }

  function values(column) {
    const sizes = new Map(indices(data.rows).filter((row) => valueAt(column, row) !== null).map((row) => [String(valueAt(column, row)), sizeAt(column, row)]));
    return [...sizes.entries()].sort((a, b) => compare(a[1], b[1])).map((entry) => entry[0]);
  }

  // An axis that advances together with the one across does not tell lines apart.
  function follows(column, x) {
    if (!column.axis) return false;
    const seen = new Map();
    return indices(data.rows).every((row) => {
      const key = JSON.stringify(valueAt(x, row)), value = valueAt(column, row);
      if (!seen.has(key)) seen.set(key, value);
      return seen.get(key) === value;
    });
  }

  function place(x, row) {
    if (x.numeric || (x.sizes && x.sizes.every((size) => size !== null))) return sizeAt(x, row);
    const texts = unique(x.values.map(String)).sort(compare);
    return texts.indexOf(String(valueAt(x, row)));
  }

  // What a row's speedup is relative to is the same in all of the page; where that point is missing, the line's first.
  function reference(row, first) {
    return data.base.rows[row] >= 0 ? data.base.rows[row] : first;
  }

  // How high a row stands, and its interval: both ends are the height where none is known.
  function height(first, row) {
    const from = (column, at) => (column ? valueAt(column, at) : null);
    const cycles = (at) => { const own = from(byName.get("gpu_cycles"), at); return [from(low, at) / own || 1, from(high, at) / own || 1]; };
    if (state.y !== SPEEDUP) {
      const y = valueAt(byName.get(state.y), row) ?? null, [less, more] = LENGTHS.includes(state.y) ? cycles(row) : [1, 1];
      return { y: y, low: y * less, high: y * more };
    }
    const start = reference(row, first), base = valueAt(time, start), own = valueAt(time, row), y = base > 0 && own > 0 ? base / own : null;
    if (start === row || y === null) return { y: y, low: y, high: y };
    const [less, more] = cycles(row), [baseLess, baseMore] = cycles(start);
    return { y: y, low: y * baseLess / more, high: y * baseMore / less };
  }

  // The lines to show at first: those that change most.
  function telling(all) {
    const change = (line) => {
      const heights = line.points.map((one) => one.y).filter((value) => value > 0);
      return heights.length ? Math.max(...heights) / Math.min(...heights) : 0;
    };
    return new Set([...all].sort((a, b) => change(b) - change(a)).slice(0, FIRST_LINES));
  }

  // Those that are on at first have the first colours, and keep them.
  function colour(all) {
    if (!state.ranks) {
      const order = [...all].sort((a, b) => state.hidden.has(a.name) - state.hidden.has(b.name));
      state.ranks = new Map(order.map((line, index) => [line.name, index]));
    }
    for (const line of all) {
      const rank = state.ranks.get(line.name) ?? 0;
      line.colour = COLOURS[rank % 8];
      line.dash = DASHES[Math.floor(rank / 8) % 4];
    }
    return all;
  }

  function unmeasured(row) {
    const flags = byName.get("flags");
    return flags !== undefined && String(valueAt(flags, row)).includes("unmeasured: ");
  }

  function yText() {
    if (state.y === SPEEDUP) return "Speedup (1 at " + data.base.text + ")";
    const column = byName.get(state.y);
    return column.label + (column.unit ? " (" + column.unit + ")" : "");
  }

  function draw() {
    frame = root.clientWidth && root.clientWidth < 560 ? NARROW : WIDE;
    const shown = holds();
    const all = lines();
    if (held.childElementCount !== shown.length) held.replaceChildren(...shown);
    if (state.hidden === null) {
      const told = telling(all);
      state.hidden = new Set(all.filter((line) => !told.has(line)).map((line) => line.name));
      state.ranks = null;
    }
    colour(all);
    const kept = all.filter((line) => !state.hidden.has(line.name));
    const points = kept.flatMap((line) => line.points);
    const picture = drawn("svg", { viewBox: "0 0 " + frame.width + " " + frame.height, role: "img", tabindex: "0", "aria-label": yText() + " over " + byName.get(state.x).label + ". Arrow keys read values.", keydown: key, blur: () => point(null), pointermove: hover, pointerdown: hover, pointerleave: () => point(null) });
    places = [];
    state.at = null;
    if (points.length) paint(picture, kept, points);
    else picture.append(drawn("text", { x: frame.width / 2, y: frame.height / 2, "text-anchor": "middle" }, "No line is switched on."));
    plot.replaceChildren(picture, tip);
    tip.hidden = true;
    toggles.replaceChildren(...all.map(toggle));
  }

  function paint(picture, kept, points) {
    const x = byName.get(state.x);
    const xs = points.map((one) => one.x), ys = points.flatMap((one) => (unmeasured(one.row) ? [one.y] : [one.low, one.high]));
    const across = scale(xs, state.logX && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) >= 4, frame.left + 14, frame.width - frame.right - 14, false);
    const up = scale(ys, state.logY && Math.min(...ys) > 0, frame.height - frame.bottom - 6, frame.top + 8, true);
    const floor = frame.height - frame.bottom, edge = frame.width - frame.right;
    const bounded = (place) => Math.max(frame.top, Math.min(floor, place));
    for (const value of ticks(up, frame.height > 400 ? 6 : 5)) {
      picture.append(drawn("line", { class: "gridline", x1: frame.left, x2: edge, y1: up.at(value), y2: up.at(value) }));
      picture.append(drawn("text", { x: frame.left - 7, y: up.at(value) + 4, "text-anchor": "end" }, tickText(value)));
    }
    let last = -Infinity;
    for (const one of [...points].sort((a, b) => a.x - b.x)) {
      if (across.at(one.x) - last < Math.max(26, 8 * one.text.length)) continue;
      last = across.at(one.x);
      picture.append(drawn("line", { class: "frame", x1: last, x2: last, y1: floor, y2: floor + 4 }));
      picture.append(drawn("text", { x: last, y: floor + 18, "text-anchor": "middle" }, one.text));
    }
    picture.append(drawn("path", { class: "frame", d: "M" + frame.left + " " + frame.top + "V" + floor + "H" + edge }));
    picture.append(drawn("text", { x: (frame.left + edge) / 2, y: frame.height - 10, "text-anchor": "middle" }, x.label));
    picture.append(drawn("text", { transform: "translate(16 " + (frame.top + floor) / 2 + ") rotate(-90)", "text-anchor": "middle" }, yText()));
    for (const [index, line] of kept.entries()) {
      const beside = 2.5 * (index - (kept.length - 1) / 2);
      const path = line.points.map((one, index) => (index ? "L" : "M") + across.at(one.x).toFixed(1) + " " + up.at(one.y).toFixed(1)).join("");
      const group = drawn("g", { class: "series" }, drawn("path", { d: path, fill: "none", stroke: line.colour, "stroke-width": 2, "stroke-dasharray": line.dash || null }));
      for (const one of line.points) {
        const hollow = unmeasured(one.row);
        const mark = drawn("circle", { class: hollow ? "hollow" : null, cx: across.at(one.x), cy: up.at(one.y), r: 3.6, fill: hollow ? "var(--paper)" : line.colour, stroke: hollow ? line.colour : null, "stroke-width": hollow ? 1.6 : null });
        if (one.high > one.low) group.append(drawn("line", { class: hollow ? "guess" : "interval", x1: across.at(one.x) + beside, x2: across.at(one.x) + beside, y1: bounded(up.at(one.low)), y2: bounded(up.at(one.high)), stroke: line.colour }));
        group.append(mark);
        places.push({ x: across.at(one.x), y: up.at(one.y), line: line, point: one, mark: mark, group: group });
      }
      picture.append(group);
    }
  }

  function hover(event) {
    const box = plot.firstChild.getBoundingClientRect(), factor = frame.width / box.width;
    const x = (event.clientX - box.left) * factor, y = (event.clientY - box.top) * factor;
    let best = null, nearest = 60 ** 2;
    for (const one of places) {
      const distance = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (distance < nearest) [best, nearest] = [one, distance];
    }
    point(best);
  }

  function key(event) {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key === "Escape") { point(null); return; }
    if (!(event.key in steps) || !places.length) return;
    event.preventDefault();
    if (!state.at) { point(places[0], true); return; }
    const [along, between] = steps[event.key];
    if (along) {
      const own = places.filter((one) => one.line === state.at.line), index = own.indexOf(state.at) + along;
      point(own[Math.max(0, Math.min(own.length - 1, index))], true);
    } else {
      const shown = unique(places.map((one) => one.line)), index = (shown.indexOf(state.at.line) + between + shown.length) % shown.length;
      const own = places.filter((one) => one.line === shown[index]);
      point(own.reduce((best, one) => (Math.abs(one.x - state.at.x) < Math.abs(best.x - state.at.x) ? one : best)), true);
    }
  }

  function point(chosen, aloud) {
    if (state.at === chosen) return;
    state.at = chosen;
    for (const one of places) {
      one.mark.setAttribute("r", one === chosen ? 6 : 3.6);
      one.group.classList.toggle("dimmed", chosen !== null && one.line !== chosen.line);
    }
    tip.hidden = chosen === null;
    if (chosen === null) return;
    const x = byName.get(state.x), y = state.y === SPEEDUP ? "speedup" : state.y;
    const unit = state.y === SPEEDUP ? "" : byName.get(state.y).unit;
    const rows = [chosen.line.name, x.label + ": " + chosen.point.text, y + ": " + format(chosen.point.y) + (unit ? " " + unit : "")];
    if (state.y === SPEEDUP) rows.push(time.name + ": " + format(valueAt(time, chosen.point.row)) + " " + time.unit);
    if (chosen.point.high > chosen.point.low) rows.push("interval: " + format(chosen.point.low) + " to " + format(chosen.point.high));
    if (unmeasured(chosen.point.row)) rows.push("error not measured there: the interval is a guess");
    tip.replaceChildren(...rows.map((text, index) => element(index ? "div" : "strong", {}, text)));
    const box = plot.firstChild.getBoundingClientRect(), factor = box.width / frame.width;
    const left = chosen.x * factor, room = box.width - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(room, left + (left > box.width / 2 ? -tip.offsetWidth - 12 : 12))) + "px";
    tip.style.top = Math.max(0, chosen.y * factor - tip.offsetHeight - 10) + "px";
    if (aloud) spoken.textContent = rows.join(", ");
  }

  function toggle(line) {
    const on = !state.hidden.has(line.name);
    const sample = drawn("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, drawn("line", { x1: 1, x2: 25, y1: 6, y2: 6, stroke: line.colour, "stroke-width": 2, "stroke-dasharray": line.dash || null }), drawn("circle", { cx: 13, cy: 6, r: 3.4, fill: line.colour }));
    return element("button", { type: "button", "aria-pressed": String(on), "data-line": line.name, click: () => {
      if (on) state.hidden.add(line.name); else state.hidden.delete(line.name);
      draw();
      toggles.querySelector("button[data-line=" + CSS.escape(line.name) + "]")?.focus();
    } }, sample, line.name);
  }

  function every(on) {
    state.hidden = on ? new Set() : new Set(lines().map((line) => line.name));
    draw();
  }

  // What the page says around the chart: who made the numbers, what is held, what an open mark is.
  function note(shown) {
    const rows = shown.flatMap((line) => line.points.map((point) => point.row));
    const engines = [...new Set(rows.map((row) => format(valueAt(byName.get("engine"), row))))].join(", ");
    const values = [...state.held].map(([name, value]) => byName.get(name).label + " " + value);
    return ["Engine: " + engines, ...values, ...(shown.some((line) => line.points.some((one) => one.high > one.low)) ? ["bars: intervals"] : []), ...(rows.some(unmeasured) ? ["open marks: error not measured"] : [])].join(" · ");
  }

  function save(kind) {
    const shown = colour(lines()).filter((line) => !state.hidden.has(line.name));
    const title = document.querySelector("h1").textContent + ": " + yText() + " over " + byName.get(state.x).label;
    savePicture("chart", kind, standalone(plot.firstChild, title, shown, note(shown)));
  }

  function check(text, name) {
    const box = element("input", { type: "checkbox", checked: state[name], change: () => { state[name] = box.checked; draw(); } });
    return element("label", { class: "check" }, box, text);
  }

  addEventListener("resize", () => {
    if ((root.clientWidth < 560 ? NARROW : WIDE) !== frame) draw();
  });
  root.append(
    element("div", { class: "controls" },
      labelled("Up", selectOf(quantities, state.y, (value) => { state.y = value; draw(); })),
      labelled("Across", selectOf(axes.map((column) => [column.name, column.label]), state.x, (value) => { state.x = value; state.hidden = null; state.held = null; held.replaceChildren(); draw(); })),
      check("logarithmic across", "logX"), check("logarithmic up", "logY"),
      element("span", { class: "pair" },
        element("button", { type: "button", click: () => every(true) }, "All lines"),
        element("button", { type: "button", click: () => every(false) }, "No line")),
      element("span", { class: "pair" },
        element("button", { type: "button", click: () => save("svg") }, "Save SVG"),
        element("button", { type: "button", click: () => save("png") }, "Save PNG"))),
    held, plot, spoken, toggles,
    element("p", { class: "hint" }, "Point at a value or focus the chart and use the arrow keys to read it; the buttons switch lines on and off. At first the lines that change most are on" + (indices(data.rows).some(unmeasured) ? "; open marks: error not measured" : "") + (low ? "; bars: intervals" : "") + "."));
  draw();
  return () => ({ x: state.x, y: state.y, logX: state.logX, logY: state.logY, hidden: [...state.hidden], held: [...state.held] });
}
