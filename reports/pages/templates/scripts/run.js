// The runs of a data set: a table of one method's runs, and all details of a selected run.

function startRuns(data) {
  const draw = () => drawRuns(data);
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, draw);
  draw();
}

// The page of a run or a method: this one, or a neighbour with the other runs. A method whose runs
// are on several pages is divided by key.
function placeOf(data, state) {
  const named = (name) => slugOfMethod(name) === state.method;
  const neighbour = (isThere) => data.neighbours.find((one) =>
    one.methods.some(([name, first, last]) => named(name) && isThere(first, last)));
  if (state.run) {
    for (const method of data.methods) {
      const i = method.runs.key.findIndex((key) => key.startsWith(state.run));
      if (i >= 0) return { method, i };
    }
    const start = state.run.slice(0, 8);
    const next = neighbour((first, last) => first.slice(0, start.length) <= start && start <= last);
    if (next) return { next };
  }
  const method = data.methods.find((one) => named(one.name));
  const next = !method && state.method && neighbour(() => true);
  return next ? { next } : { method: method ?? data.methods[0], i: -1 };
}

function drawRuns(data) {
  const state = readState();
  const { method, i, next } = placeOf(data, state);
  if (next) {
    location.replace(`${next.address}${location.hash}`);
    return;
  }
  byId("question").replaceChildren(methodSelect(data, method));
  byId("list").replaceChildren(runList(data, method, i), ...sharedTimes(method), ...moreRuns(data, method));
  byId("run").replaceChildren(...(i < 0 ? noRun(state, method) : oneRun(data, method, i)));
}

function methodSelect(data, chosen) {
  const elsewhere = data.neighbours.flatMap((one) => one.methods.map(([name]) => name));
  const names = [...data.methods.map((one) => one.name), ...elsewhere];
  const options = [...new Set(names)].map((name) =>
    el("option", { value: slugOfMethod(name), selected: name === chosen.name }, name));
  const select = el("select", { onchange: (event) => writeState({ method: event.target.value, run: "" }) }, options);
  return el("label", {}, "Runs of ", select);
}

function runList(data, method, chosen) {
  const { runs } = method;
  const shown = data.shown.map(([condition, metric]) =>
    [data.metrics[metric], ownOf(ownOf(method.scores, condition), metric)]);
  const texts = (column) => runs.key.map((_, i) => String(cellAt(column, i)));
  const numbers = (column, scale) => alike(runs.key.map((_, i) => cellAt(column, i)), scale);
  return runTable(`Runs of ${method.name}`, runs.key, [
    ["fold", texts(runs.fold)], ["seed", texts(runs.seed)],
    ...shown.map(([[title, unit, scale], column]) => [unit ? `${title}, ${unit}` : title, numbers(column, scale)]),
    ["fit, s", numbers(runs.fit_seconds)], ["status", texts(runs.status), "text"],
  ], chosen, chooseRun);
}

function chooseRun(key) {
  const short = key.slice(0, 8);
  writeState({ run: short });
  const chosen = [...document.querySelectorAll(".key-of-run")].find((one) => one.textContent === short);
  chosen?.focus();
  byId("run").scrollIntoView({ block: "nearest" });
}

// Fits that ran together have no separate times: each is assigned an equal share.
function sharedTimes({ runs }) {
  const shared = runs.key.some((_, i) => cellAt(runs.fitted_together, i) > 1);
  return shared ? [el("p", { class: "note" }, "Runs with equal times were fitted together; each is assigned an equal share.")] : [];
}

// A method with very many runs continues on other pages.
function moreRuns(data, method) {
  const others = data.neighbours.filter((one) => one.methods.some(([name]) => name === method.name));
  const links = others.flatMap((one, k) => [
    k ? ", " : "", el("a", { href: `${one.address}#method=${slugOfMethod(method.name)}` }, `page ${k + 1}`)]);
  return links.length ? [el("p", { class: "note" }, "More runs of this method: ", ...links, ".")] : [];
}

function noRun(state, method) {
  const unknown = state.run ? [el("p", { class: "banner caution", role: "alert" }, `No run here has a key that begins with “${state.run}”.`)] : [];
  return [...unknown, el("p", { class: "note" }, "Select a run for its scores, diagnostics and provenance."), ...settingsOf(method, "h2")];
}

function oneRun(data, method, i) {
  return runDetails({ ...method, heading: "h2", origins: data.origins, costs: data.costs,
    shown: scoresOf(data, method, i), settings: settingsOf(method) }, i);
}

function scoresOf(data, method, i) {
  const conditions = Object.keys(data.conditions).filter((name) => ownOf(method.scores, name));
  const metrics = Object.keys(data.metrics).filter((m) => conditions.some((c) => ownOf(method.scores[c], m) !== undefined));
  const named = (metric) => { const [title, unit] = data.metrics[metric]; return unit ? `${title}, ${unit}` : title; };
  const value = (condition, metric) => scoreText(cellAt(ownOf(method.scores[condition], metric), i), data.metrics[metric][2]);
  if (conditions.length < 2)
    return facts(conditions.flatMap((c) => metrics.map((m) => [named(m), value(c, m)])));
  const head = [el("td"), ...metrics.map((m) => el("th", { scope: "col", class: "number" }, named(m)))];
  const rows = conditions.map((c) => el("tr", {}, el("th", { scope: "row" }, data.conditions[c]),
    metrics.map((m) => el("td", { class: "number" }, value(c, m)))));
  return el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Scores" },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

function settingsOf(method, heading = "h3") {
  const entries = method.settings.map(([path, value, differs]) =>
    [path, differs ? el("b", {}, value) : value]);
  const known = method.settings.some(([, , differs]) => differs !== null);
  const note = !entries.length ? "The settings were not stored."
    : !known ? "The defaults of this class are unknown here."
    : method.settings.some(([, , differs]) => differs) ? "In bold: differs from the class's default, or has none."
    : "All settings are class defaults.";
  return [el(heading, {}, "Settings"), el("p", { class: "note" }, note), facts(entries) ?? "",
    method.network ? el("p", { class: "note" }, `Network: ${method.network}`) : ""].filter((part) => part !== "");
}
