// The runs behind a cell, in a dialog.

function openRuns(ranking, open, run) {
  const dialog = byId("runs");
  const [methodSlug, columnSlug] = (open ?? "").split("/");
  const { task } = ranking;
  const method = task.methods.find((name) => slugOfMethod(name) === methodSlug);
  const column = task.columns.find((one) => one.slug === columnSlug);
  if (!method || !column) {
    if (dialog.open) dialog.close();
    return;
  }
  const scores = entriesOf(entriesOf(task.scores[ranking.scale.name][column.id]).get(method));
  const keys = entriesOf(entriesOf(task.keys[column.id]).get(method));
  const names = inOrder([...keys.keys()]);
  const ends = names.map((name) => keys.get(name).split(" "));
  const keyed = ends.some(([key]) => key !== "-");
  const chosen = keyed && run && [...keys.values()].some((text) => text.startsWith(run)) ? run : "";
  dialog.replaceChildren(
    el("button", { class: "tool close", onclick: () => dialog.close() }, "Close"),
    el("h2", { id: "runs-title" }, `${method} on ${column.title}`),
    el("p", { class: "note" }, `Suite ${column.suite}, profile ${column.profile}; data: ${column.origin}.${
      column.seeds > 1 ? " Each split's first run represents all its seeds; the score is their mean." : ""}`),
    runTable(`Runs of ${method}`, ends.map(([key]) => key), [
      ["fold", names.map((name) => String(pairOf(name)[0]))],
      ["seed", names.map((name) => seedOf(column, pairOf(name)[1]))],
      [ranking.scale.title, names.map((name) => (scores.has(name) ? typographic(String(scores.get(name))) : ""))],
      ["status", ends.map(([, status]) => status ?? "completed"), "text"],
    ], ends.findIndex(([key]) => key === chosen), (key) => keyed && writeState({ run: key })),
    chosen ? chosenRun(chosen, column, method)
      : keyed ? el("p", { class: "note" }, "Select a run to see how to repeat it.")
        : el("p", {}, el("a", { href: `${ROOT}${column.page}#method=${methodSlug}` }, "Keys, settings and diagnostics")));
  if (!dialog.open) dialog.showModal();
}

const seedOf = (column, seed) => (column.seeds > 1 ? `mean of ${column.seeds}` : String(seed));

function chosenRun(key, column, method) {
  return el("div", {},
    repeating(column.repeatable, key),
    el("p", {}, el("a", { href: `${ROOT}${column.page}#method=${slugOfMethod(method)}&run=${key}` }, "Settings, diagnostics and data")));
}
