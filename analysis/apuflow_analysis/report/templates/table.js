// The table: sort by its headings, filter by text and by what varies, choose columns, page through, save as CSV.

const KINDS = { identity: "Point", axis: "Axes", machine: "Machine", counter: "Counters", metric: "Metrics", check: "Checks", run: "Run", provenance: "Provenance" };
const MOST_CHOICES = 60;
const PRINTED = 500;
const LONG = 24;

// Returns a function that tells what the reader has set, which `saved` restores.
function buildTable(root, data, saved) {
  const named = (name) => data.columns.find((column) => column.name === name) || null;
  const state = {
    column: named(saved.column), descending: saved.descending === true, text: String(saved.text || ""),
    filters: new Map((Array.isArray(saved.filters) ? saved.filters : []).filter((entry) => named(entry[0]))), page: 0, size: 25,
  };
  const shown = new Set(Array.isArray(saved.shown) ? saved.shown : data.columns.filter((column) => column.shown).map((column) => column.name));
  const status = element("p", { class: "status", role: "status" });
  const head = element("thead", {});
  const body = element("tbody", {});
  const caption = element("caption", { class: "hidden" }, "Results, one row per point. The headings are buttons that sort.");
  const region = element("div", { class: "scroll results", tabindex: "0", role: "region", "aria-label": "Results" }, element("table", { id: "results" }, caption, head, body));
  const back = element("button", { type: "button", click: () => turn(-1) }, "Previous");
  const next = element("button", { type: "button", click: () => turn(1) }, "Next");
  const where = element("span", {});
  const sizes = selectOf([["25", "25"], ["100", "100"], ["500", "500"]], "25", (value) => { state.size = Number(value); state.page = 0; draw(); });

  function visible() {
    return data.columns.filter((column) => shown.has(column.name));
  }

  function found() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const searched = data.columns.filter((column) => !column.numeric || column.axis);
    const rows = indices(data.rows).filter((row) => {
      for (const [name, wanted] of state.filters) {
        const column = data.columns.find((one) => one.name === name);
        if (String(valueAt(column, row)) !== wanted) return false;
      }
      if (!words.length) return true;
      const text = searched.map((column) => format(valueAt(column, row))).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (state.column) {
      const sign = state.descending ? -1 : 1;
      rows.sort((a, b) => {
        const left = sizeAt(state.column, a), right = sizeAt(state.column, b);
        if (left === null || right === null) return compare(left, right);
        return sign * compare(left, right) || a - b;
      });
    }
    return rows;
  }

  function heading(column) {
    const sorted = state.column === column;
    const arrow = sorted ? (state.descending ? " ▼" : " ▲") : "";
    const unit = column.unit ? element("span", { class: "unit" }, " (" + column.unit + ")") : null;
    const button = element("button", { type: "button", title: column.meaning, click: () => sort(column) }, column.label, unit, arrow);
    return element("th", { scope: "col", class: column.numeric ? "number" : null, "data-name": column.name, "aria-sort": sorted ? (state.descending ? "descending" : "ascending") : "none" }, button);
  }

  function cell(column, row) {
    const value = valueAt(column, row);
    const text = format(value);
    if (column.name === "point" && data.links[row]) {
      return element("td", { class: "id" }, element("a", { href: data.links[row] }, text));
    }
    if (column.tags) {
      const tags = column.tags[row].flatMap((tag) => [element("span", { class: "tag" }, tag), " "]);
      if (!tags.length) return element("td", { class: "none" }, "–");
      if (text.length <= LONG) return element("td", {}, ...tags);
      return element("td", { class: "tagged" }, element("details", {}, element("summary", {}, ...tags), text));
    }
    const bad = column.name === "status" && value !== "completed";
    const kind = text === "" ? "none" : bad ? "bad" : column.numeric ? "number" : column.name === "point" ? "id" : null;
    if (text.length > LONG) {
      return element("td", { class: "long" }, element("details", {}, element("summary", {}, text.slice(0, LONG) + "…"), text));
    }
    return element("td", { class: kind, title: typeof value === "number" && text !== String(value) ? String(value) : null }, text === "" ? "–" : text);
  }

  function draw(focused) {
    const rows = found();
    const pages = Math.max(1, Math.ceil(rows.length / state.size));
    state.page = Math.min(state.page, pages - 1);
    const page = rows.slice(state.page * state.size, (state.page + 1) * state.size);
    const columns = visible();
    head.replaceChildren(element("tr", {}, ...columns.map(heading)));
    body.replaceChildren(...page.map((row) => element("tr", {}, ...columns.map((column) => cell(column, row)))));
    status.textContent = rows.length === data.rows ? data.rows + (data.rows === 1 ? " row" : " rows") : rows.length + " of " + data.rows + " rows";
    where.textContent = "page " + (state.page + 1) + " of " + pages;
    back.disabled = state.page === 0;
    next.disabled = state.page >= pages - 1;
    if (focused) head.querySelector("th[data-name=" + CSS.escape(focused) + "] button")?.focus();
  }

  function sort(column) {
    state.descending = state.column === column ? !state.descending : false;
    state.column = column;
    state.page = 0;
    draw(column.name);
  }

  function turn(step) {
    state.page += step;
    draw();
  }

  function narrow(column, wanted) {
    if (wanted === "") state.filters.delete(column.name);
    else state.filters.set(column.name, wanted.slice(1));
    state.page = 0;
    draw();
  }

  function filters() {
    const wanted = data.columns.filter((column) => ["engine", "workload", "direction", "status", "bound"].includes(column.name) || column.axis);
    return wanted.flatMap((column) => {
      if ("constant" in column) return [];
      const rows = new Map(indices(data.rows).map((row) => [String(valueAt(column, row)), sizeAt(column, row)]));
      if (rows.size < 2 || rows.size > MOST_CHOICES) return [];
      const texts = [...rows.entries()].sort((a, b) => compare(a[1], b[1])).map((entry) => entry[0]);
      return [labelled(column.label, selectOf([["", "all"], ...texts.map((text) => ["=" + text, text])], state.filters.has(column.name) ? "=" + state.filters.get(column.name) : "", (value) => narrow(column, value)))];
    });
  }

  function chooser() {
    const groups = Object.entries(KINDS).flatMap(([kind, text]) => {
      const own = data.columns.filter((column) => column.kind === kind);
      if (!own.length) return [];
      return [element("h4", {}, text), ...own.map((column) => {
        const box = element("input", { type: "checkbox", checked: shown.has(column.name), change: () => {
          if (box.checked) shown.add(column.name); else shown.delete(column.name);
          draw();
        } });
        return element("label", { title: column.meaning }, box, " ", column.label);
      })];
    });
    return element("details", {}, element("summary", {}, "Columns (" + data.columns.length + ")"), element("div", { class: "choices" }, ...groups));
  }

  function save() {
    const quote = (text) => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    const lines = [visible().map((column) => quote(column.name)).join(",")];
    for (const row of found()) lines.push(visible().map((column) => quote(String(valueAt(column, row) ?? ""))).join(","));
    download("selection.csv", new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  }

  function legend() {
    return data.legend.length ? element("dl", { class: "legend" }, ...data.legend.flatMap(([tag, meaning]) => [element("dt", {}, element("span", { class: "tag" }, tag)), element("dd", {}, meaning)])) : null;
  }

  const search = element("input", { type: "search", id: "search", placeholder: "words in any text column", value: state.text, input: () => { state.text = search.value; state.page = 0; draw(); } });
  const controls = element("div", { class: "controls" }, labelled("Search", search), ...filters(), labelled("Rows", sizes), element("button", { type: "button", click: save }, "Save as CSV"));
  const pager = element("div", { class: "pager" }, back, where, next);
  root.append(controls, chooser(), status, region, pager, ...[legend()].filter(Boolean));
  let before = null;
  addEventListener("beforeprint", () => { before = [state.size, state.page]; [state.size, state.page] = [PRINTED, 0]; draw(); });
  addEventListener("afterprint", () => { if (before) { [state.size, state.page] = before; draw(); } });
  draw();
  return () => ({ column: state.column ? state.column.name : null, descending: state.descending, text: state.text, filters: [...state.filters], shown: [...shown] });
}
