// A click on a cell opens its runs: their scores, settings, diagnostics and provenance.
// Without their data, a cell is plain text, and the page gives the reason.
let DRILLDOWN = null;
const panel = document.getElementById("runs");
const at = (column, i) => (Array.isArray(column) ? column[i] : column);
const short = (value, scale = 1) =>
  typeof value === "number" ? String(Number((value * scale).toPrecision(5))) : value ?? "–";
const facts = (entries) => make("dl", { class: "facts" },
  ...Object.entries(entries).flatMap(([name, value]) =>
    [make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, String(value))]));
const folded = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);
const owned = (of, name) => (of && Object.hasOwn(of, name) ? of[name] : undefined);
const sourceOf = (cell) => {
  const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
  const place = DRILLDOWN?.benchmarks[head.dataset.b];
  const label = cell.parentNode.dataset.label;
  return place && { head, place, label, runs: owned(place.methods, label) };
};
const numberOf = (head) => {
  const name = owned(DRILLDOWN.names, head.dataset.m);
  return name ? withUnit(name, unitOf(head)) : headed(head);
};
const oneRun = (runs, i, entry) => {
  const key = runs.key[i];
  const command = `bnnbench repeat ${key}`;
  const button = make("button", { type: "button", class: "tool" }, "copy");
  button.addEventListener("click", () => copied(command, button));
  const entries = {
    key,
    finished: at(runs.finished, i) || "–",
    fit: `${short(at(runs.fit_seconds, i))} s` +
      (at(runs.fitted_together, i) > 1 ? `, one of ${at(runs.fitted_together, i)} fitted together` : ""),
    predict: `${short(at(runs.predict_seconds, i))} s`,
    memory: `${short(at(runs.peak_bytes, i), 2 ** -20)} MiB`,
  };
  if (at(runs.compile_seconds, i) > 0) entries.compile = `${short(at(runs.compile_seconds, i))} s, before the fit`;
  if (at(runs.fit_joules, i) != null) entries.energy = `${short(at(runs.fit_joules, i))} J`;
  if (runs.store !== undefined) entries.store = DRILLDOWN.stores[at(runs.store, i)];
  const diagnostics = Object.fromEntries(Object.entries(runs.diagnostics ?? {})
    .map(([name, column]) => [name, at(column, i)]).filter(([, value]) => value != null)
    .map(([name, value]) => [name, short(value)]));
  const parts = [make("h3", {}, `Fold ${at(runs.fold, i)}, seed ${at(runs.seed, i)}: ${at(runs.status, i)}`),
    make("p", { class: "command" }, make("code", {}, command), " ", button)];
  if (entry.place.page) parts.push(make("p", {},
    make("a", { href: `${entry.place.page}#run=${key.slice(0, 8)}` }, "This run on its own page")));
  if (runs.errors?.[i]) parts.push(make("pre", { tabindex: "0" }, runs.errors[i]));
  parts.push(facts(entries));
  if (Object.keys(diagnostics).length) parts.push(make("h4", {}, "Diagnostics"), facts(diagnostics));
  parts.push(folded("Provenance", facts(DRILLDOWN.origins[at(runs.origin, i)] ?? {})));
  const settings = owned(owned(DRILLDOWN.settings, entry.place.profile), entry.label);
  if (settings) parts.push(folded("Settings", facts(settings)));
  return parts;
};
const listed = (entry, detail) => {
  const { runs, head } = entry;
  const column = head.dataset.k === "diagnostic" ? owned(runs.diagnostics, head.dataset.m)
    : head.dataset.k === "cost" ? runs[head.dataset.m]
    : owned(owned(runs.scores, head.dataset.c), head.dataset.m);
  const columns = [["Fold", runs.fold], ["Seed", runs.seed]];
  if (column !== undefined) columns.push([numberOf(head), column, Number(head.dataset.scale ?? 1)]);
  if (head.dataset.k !== "cost") columns.push(["Fit, s", runs.fit_seconds]);
  columns.push(["Status", runs.status]);
  const body = make("tbody");
  runs.key.forEach((key, i) => {
    const button = make("button", { type: "button", class: "tool", "aria-pressed": "false" }, key.slice(0, 8));
    button.addEventListener("click", () => {
      for (const other of body.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button);
      detail.replaceChildren(...oneRun(runs, i, entry));
    });
    body.append(make("tr", {}, make("th", { scope: "row" }, button),
      ...columns.map(([, values, scale]) => make("td", {}, String(short(at(values, i), scale ?? 1))))));
  });
  const names = ["Run", ...columns.map(([name]) => name)];
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
    make("table", {}, make("caption", { class: "hidden" }, "Runs"),
      make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))), body));
};
const open = (cell) => {
  const entry = sourceOf(cell);
  const close = make("button", { type: "button", class: "tool close", autofocus: true }, "Close");
  close.addEventListener("click", () => panel.close());
  const of = cell.classList.contains("absent") ? cell.textContent.trim()
    : `${plain(cell)}${cell.querySelector(".se")?.textContent ?? ""}`;
  const where = owned(DRILLDOWN.names, entry.head.dataset.c);
  const summary = [`${numberOf(entry.head)}${where ? `, ${where}` : ""}: ${of}`, cell.title]
    .filter(Boolean).join(", ");
  const detail = make("section", { class: "run", "aria-live": "polite" });
  const table = entry.runs && listed(entry, detail);
  panel.replaceChildren(close,
    make("h2", { id: "runs-title" }, `${entry.label} on ${entry.place.title}`),
    make("p", {}, summary),
    ...(DRILLDOWN.whole ? [] : [make("p", { class: "note" },
      "This page has no room for all numbers of these runs; the files next to it hold them all.")]),
    table ?? make("p", {}, entry.place.page
      ? make("a", { href: entry.place.page }, "Every run on its own page")
      : "The runs are listed in runs.csv next to this page."), detail);
  panel.showModal();
  table?.querySelector("button").click();
};
panel?.addEventListener("click", (event) => { if (event.target === panel) panel.close(); });
// Tab reaches one cell of each table; arrow keys move to its neighbours.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const buttonAt = (row, index) => row?.cells[index]?.querySelector("button");
const moved = (button, [down, right]) => {
  const cell = button.closest("td");
  let [row, index] = [cell.parentNode, cell.cellIndex];
  do {
    row = down > 0 ? row.nextElementSibling : down < 0 ? row.previousElementSibling : row;
    index += right;
  } while (row && index > 0 && index < row.cells.length && (row.hidden || !buttonAt(row, index)));
  return buttonAt(row, index);
};
const openable = () => {
  for (const table of document.querySelectorAll("table.results")) {
    let first = true;
    for (const cell of table.tBodies[0].querySelectorAll("td")) {
      const entry = sourceOf(cell);
      if (!entry || (!entry.runs && DRILLDOWN.whole)) continue;
      const button = make("button", { type: "button", class: "cell", tabindex: first ? "0" : "-1" });
      button.append(...cell.childNodes);
      cell.append(button);
      first = false;
    }
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.cell");
      if (button) open(button.closest("td"));
    });
    table.addEventListener("keydown", (event) => {
      const button = event.target.closest("button.cell");
      const next = button && STEPS[event.key] && moved(button, STEPS[event.key]);
      if (!next) return;
      event.preventDefault();
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
};
const packedRuns = document.getElementById("drilldown").textContent;
const refuse = () =>
  document.querySelector("main").prepend(make("p", { class: "banner caution", role: "alert" }, whyUnread()));
(packedRuns === "null" ? Promise.resolve() : inflated(packedRuns))
  .then((data) => { DRILLDOWN = data; if (data) openable(); })
  .catch(refuse)
  .finally(() => { document.documentElement.dataset.ready = ""; });
