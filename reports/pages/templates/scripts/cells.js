// A click on a cell opens its runs: their scores, settings, diagnostics and provenance.
// Without their data, a cell is plain text, and the page gives the reason.
let DRILLDOWN = null;
const panel = byId("runs");
const sourceOf = (cell) => {
  const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
  const place = DRILLDOWN?.benchmarks[head.dataset.b];
  const label = cell.parentNode.dataset.label;
  return place && { head, place, label, method: ownOf(place.methods, label) };
};
const numberOf = (head) => {
  const name = ownOf({ ...DRILLDOWN.names, ...DRILLDOWN.costs }, head.dataset.m);
  return name ? withUnit(name, unitOf(head)) : headed(head);
};
const detailsOf = ({ place, label, method }, i) => {
  const settings = Object.entries(ownOf(ownOf(DRILLDOWN.settings, place.profile), label) ?? {});
  const { origins, costs, stores } = DRILLDOWN;
  return runDetails({ ...method, name: label, heading: "h3", page: place.page, origins, costs, stores,
    settings: folded("Settings", facts(settings.map(([name, value]) => [readable(name), value]))), folded: true }, i);
};
const listed = (entry, detail) => {
  const { head, method: { runs, scores, diagnostics } } = entry;
  const column = head.dataset.k === "diagnostic" ? ownOf(diagnostics, head.dataset.m)
    : head.dataset.k === "cost" ? runs[head.dataset.m]
    : ownOf(ownOf(scores, head.dataset.c), head.dataset.m);
  const texts = (values, scale = 1) => runs.key.map((_, i) => scoreText(cellAt(values, i), scale) || "–");
  const columns = [["fold", texts(runs.fold)], ["seed", texts(runs.seed)]];
  if (column !== undefined) columns.push([numberOf(head), texts(column, Number(head.dataset.scale ?? 1))]);
  if (head.dataset.k !== "cost") columns.push(["fit, s", texts(runs.fit_seconds)]);
  columns.push(["status", texts(runs.status), "text"]);
  const choose = (key, i) => {
    table.querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
    detail.replaceChildren(...detailsOf(entry, i));
  };
  const table = runTable("Runs", runs.key, columns, -1, choose);
  return table;
};
const open = (cell) => {
  const entry = sourceOf(cell);
  const close = el("button", { type: "button", class: "tool close", autofocus: true, onclick: () => panel.close() }, "Close");
  const of = cell.classList.contains("absent") ? cell.textContent.trim()
    : `${plain(cell)}${cell.querySelector(".se")?.textContent ?? ""}`;
  const where = ownOf(DRILLDOWN.names, entry.head.dataset.c);
  const summary = [`${numberOf(entry.head)}${where ? `, ${where}` : ""}: ${of}`, cell.title]
    .filter(Boolean).join(", ");
  const detail = el("section", { class: "run", "aria-live": "polite" });
  const table = entry.method && listed(entry, detail);
  panel.replaceChildren(close,
    el("h2", { id: "runs-title" }, `${entry.label} on ${entry.place.title}`),
    el("p", {}, summary),
    ...(DRILLDOWN.whole ? [] : [el("p", { class: "note" },
      "This page has no room for all numbers of these runs; the files next to it hold them all.")]),
    table ?? el("p", {}, entry.place.page
      ? el("a", { href: entry.place.page }, "Every run on its own page")
      : "The runs are listed in runs.csv next to this page."), detail);
  panel.showModal();
  table?.querySelector("button").click();
};
panel?.addEventListener("click", (event) => { if (event.target === panel) panel.close(); });
const openable = () => {
  for (const table of document.querySelectorAll("table.results")) {
    let first = true;
    for (const cell of table.tBodies[0].querySelectorAll("td")) {
      const entry = sourceOf(cell);
      if (!entry || (!entry.method && DRILLDOWN.whole)) continue;
      const button = el("button", { type: "button", class: "cell", tabindex: first ? "0" : "-1" });
      button.append(...cell.childNodes);
      cell.append(button);
      first = false;
    }
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.cell");
      if (button) open(button.closest("td"));
    });
    table.addEventListener("keydown", moveByArrows);
  }
};
const packedRuns = JSON.parse(byId("page-data").textContent).drilldown;
(packedRuns ? inflated(packedRuns) : Promise.resolve())
  .then((data) => { DRILLDOWN = data; if (data) openable(); })
  .catch(refuse)
  .finally(() => { document.documentElement.dataset.ready = ""; });
