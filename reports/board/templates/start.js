// Each page names what it needs; a page whose data cannot be read says so.

function pageData() {
  try {
    return JSON.parse(byId("data").textContent);
  } catch {
    const text = "This page is damaged: its data cannot be read. Build the site again.";
    document.querySelector("main").prepend(el("p", { class: "caution", role: "alert" }, text));
    return null;
  }
}

// Scores and keys come in the order of a column's runs, keys as one text; null and "" are no value.
function unpack(task, data) {
  const named = (column, values) =>
    Object.fromEntries(values.map((value, k) => [task.runs[column][k], value]).filter(([, v]) => v !== null && v !== ""));
  const unpacked = (byColumn) =>
    Object.fromEntries(Object.entries(byColumn).map(([column, byMethod]) => [
      column,
      Object.fromEntries(Object.entries(byMethod).map(([m, values]) => [m, named(column, typeof values === "string" ? values.split(",") : values)])),
    ]));
  for (const name of Object.keys(task.scores)) task.scores[name] = unpacked(task.scores[name]);
  task.keys = unpacked(task.keys);
  task.moments = data.moments;
}

const data = pageData();
if (data) {
  methodPages = new Map(data.methodPages);
  outlines = new Map(Object.entries(data.outlines ?? {}));
  startSearch(data.search);
  for (const task of data.tasks ?? []) unpack(task, data);
  if (byId("board")) startBoard(data);
  if (byId("compare")) startCompare(data);
  if (byId("paper")) startPaper(data);
  if (byId("run-page")) startRuns(data);
  if (byId("examples")) startExamples(data);
}

// For other programs: the statistics of the page, by the same functions that draw it.
globalThis.bnnbench = {
  answer(id, criterion, off = [], budget = 0) {
    const task = data.tasks.find((one) => one.id === id);
    const ranking = ranked(task, criterion, off, budget);
    const rows = ranking.rows.map(({ method, margin, half, state, adjusted, equal, words }) =>
      ({ method, margin, half, state, adjusted, equal, words }));
    return { rows, level: ranking.found.level, ...adviceOn(ranking) };
  },
};
