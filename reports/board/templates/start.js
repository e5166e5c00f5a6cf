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

const data = pageData();
if (data) {
  methodPages = new Map(data.methodPages);
  startSearch(data.search);
  if (data.tasks) startBoard(data);
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
