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
  const rows = inOrder([...keys.keys()]).map((name) => {
    const [key, status] = keys.get(name).split(" ");
    const score = scores.has(name) ? typographic(String(scores.get(name))) : "";
    const [fold, seed] = pairOf(name);
    return el("tr", {},
      el("td", {}, el("button", { class: "key-of-run", onclick: () => writeState({ run: key }) }, key)),
      el("td", { class: "number" }, String(fold)), el("td", { class: "number" }, seedOf(column, seed)),
      el("td", { class: "number" }, score), el("td", {}, status ?? "completed"));
  });
  const names = ["run", "fold", "seed", ranking.scale.title, "status"];
  const heads = names.map((name, k) => el("th", { class: k > 0 && k < 4 ? "number" : null }, name));
  const chosen = run && [...keys.values()].some((text) => text.startsWith(run)) ? run : "";
  dialog.replaceChildren(
    el("button", { class: "tool close", onclick: () => dialog.close() }, "Close"),
    el("h2", { id: "runs-title" }, `${method} on ${column.title}`),
    el("p", { class: "note" }, `Suite ${column.suite}, profile ${column.profile}; data: ${column.origin}.${
      column.seeds > 1 ? " Each split's first run represents all its seeds; the score is their mean." : ""}`),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))),
    chosen ? chosenRun(chosen, column) : el("p", { class: "note" }, "Select a run to see how to repeat it."));
  if (!dialog.open) dialog.showModal();
}

const seedOf = (column, seed) => (column.seeds > 1 ? `mean of ${column.seeds}` : String(seed));

function chosenRun(key, column) {
  return el("div", {},
    repeating(column.repeatable, key),
    el("p", {}, el("a", { href: `${ROOT}${column.page}#run=${key}` }, "Settings, diagnostics and data")));
}
