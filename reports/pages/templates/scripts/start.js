// Each page declares its needs; a page with unreadable data says so.

// Scores and keys follow the order of a column's runs; keys are indices into a list of texts.
// Null and "" mean no value.
function unpack(task, keys, data) {
  const named = (column, values) =>
    Object.fromEntries(values.map((value, k) => [task.runs[column][k], value]).filter(([, v]) => v !== null && v !== ""));
  const unpacked = (byColumn) =>
    Object.fromEntries(Object.entries(byColumn).map(([column, byMethod]) => [
      column,
      Object.fromEntries(Object.entries(byMethod).map(([m, values]) => [m, named(column, typeof values === "number" ? keys[values].split(",") : values)])),
    ]));
  for (const name of Object.keys(task.scores)) task.scores[name] = unpacked(task.scores[name]);
  task.keys = unpacked(task.keys);
  task.moments = data.moments;
}

async function pageData() {
  const data = JSON.parse(byId("page-data").textContent);
  for (const name of ["settings", "leagues"]) if (data[name]) data[name] = await inflated(data[name]);
  if (data.tasks) {
    const { tasks, keys } = await inflated(data.tasks);
    if (data.scores) unpackScores(tasks, await inflatedBytes(data.scores));
    for (const task of tasks) unpack(task, keys, data);
    data.tasks = tasks;
  }
  return data;
}

function start(data) {
  methodPages = new Map(data.methodPages);
  outlines = new Map(Object.entries(data.outlines ?? {}));
  const methods = data.methodPages.map(([method]) => ["method", method, methodPage(method)]);
  startSearch([...methods, ...data.search]);
  if (byId("overview")) startOverview(data.overview).catch(refuse);
  if (byId("board")) startBoard(data);
  if (byId("compare")) startCompare(data);
  if (byId("method")) startMethod();
  if (byId("paper")) startPaper(data);
  if (byId("run-page")) startRuns(data);
  if (byId("examples")) startExamples(data);
  if (byId("board")) publish(data.tasks);
}

// For other programs: the page's statistics, computed by the functions that draw it.
function publish(tasks) {
  globalThis.bnnbench = {
    answer(id, criterion, off = [], budget = 0, networks = false) {
      const task = tasks.find((one) => one.id === id);
      const ranking = ranked(task, criterion, off, budget, networks);
      const rows = ranking.rows.map(({ method, margin, low, high, state, adjusted, equal, words }) =>
        ({ method, margin, low, high, state, adjusted, equal, words }));
      return { rows, level: ranking.found.level, ...adviceOn(ranking) };
    },
  };
}

pageData().then(start, refuse).finally(() => { document.documentElement.dataset.ready = ""; });
