// The runs of a data set: a table of one method's runs, and all details of a selected run.

const cellAt = (column, i) => (Array.isArray(column) ? column[i] : column);
const scoreText = (value, scale = 1) =>
  typeof value === "number" ? typographic(String(Number((value * scale).toPrecision(5)))) : String(value ?? "");
// Numbers of a column with the decimals that give the largest of them five digits.
function alike(values, scale = 1) {
  const sizes = values.filter(Number.isFinite).map((value) => Math.abs(value * scale)).filter((size) => size > 0);
  const places = sizes.length ? Math.min(Math.max(4 - Math.floor(Math.log10(Math.max(...sizes))), 0), 8) : 0;
  return values.map((value) => (Number.isFinite(value) ? fixed(value * scale, places) : String(value ?? "")));
}
const ownOf = (map, name) => (map && Object.hasOwn(map, name) ? map[name] : undefined);

function startRuns(data) {
  const draw = () => drawRuns(data);
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, draw);
  draw();
}

// The page of a run or a method: this one, or a neighbour with the other runs.
function placeOf(data, state) {
  if (state.run) {
    for (const method of data.methods) {
      const i = method.runs.key.findIndex((key) => key.startsWith(state.run));
      if (i >= 0) return { method, i };
    }
    const next = data.neighbours.find((one) => one.keys.some((key) => state.run.startsWith(key)));
    if (next) return { next };
  }
  const named = (name) => slugOfMethod(name) === state.method;
  const method = data.methods.find((one) => named(one.name));
  const next = !method && state.method && data.neighbours.find((one) => one.methods.some(named));
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
  const names = [...data.methods.map((one) => one.name), ...data.neighbours.flatMap((one) => one.methods)];
  const options = [...new Set(names)].map((name) =>
    el("option", { value: slugOfMethod(name), selected: name === chosen.name }, name));
  const select = el("select", { onchange: (event) => writeState({ method: event.target.value, run: "" }) }, options);
  return el("label", {}, "Runs of ", select);
}

function runList(data, method, chosen) {
  const { runs } = method;
  const shown = data.shown.map(([condition, metric]) =>
    [data.metrics[metric], ownOf(ownOf(method.scores, condition), metric)]);
  const numbers = ["fold", "seed", ...shown.map(([[title, unit]]) => (unit ? `${title}, ${unit}` : title)), "fit, s"];
  const head = [el("th", {}, "run"), ...numbers.map((name) => el("th", { class: "number" }, name)), el("th", {}, "status")];
  const columns = [
    ...shown.map(([[, , scale], column]) => alike(runs.key.map((_, i) => cellAt(column, i)), scale)),
    alike(runs.key.map((_, i) => cellAt(runs.fit_seconds, i))),
  ];
  const rows = runs.key.map((key, i) => {
    const values = [String(cellAt(runs.fold, i)), String(cellAt(runs.seed, i)), ...columns.map((column) => column[i])];
    return el("tr", { class: i === chosen ? "lit" : null },
      el("td", {}, el("button", {
        class: "key-of-run", "aria-pressed": String(i === chosen),
        onclick: () => chooseRun(key),
      }, key.slice(0, 8))),
      values.map((text) => el("td", { class: "number" }, text)),
      el("td", {}, cellAt(runs.status, i)));
  });
  return el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": `Runs of ${method.name}` },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
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
  const others = data.neighbours.filter((one) => one.methods.includes(method.name));
  const links = others.flatMap((one, k) => [
    k ? ", " : "", el("a", { href: `${one.address}#method=${slugOfMethod(method.name)}` }, `page ${k + 1}`)]);
  return links.length ? [el("p", { class: "note" }, "More runs of this method: ", ...links, ".")] : [];
}

function noRun(state, method) {
  const unknown = state.run ? [el("p", { class: "banner caution", role: "alert" }, `No run here has a key that begins with “${state.run}”.`)] : [];
  return [...unknown, el("p", { class: "note" }, "Select a run for its scores, diagnostics and provenance."), ...settingsOf(method, "h2")];
}

function oneRun(data, method, i) {
  const { runs } = method;
  const remarks = ownOf(method.remarks, String(i)) ?? [];
  const error = ownOf(runs.errors, String(i));
  return [
    el("h2", { id: "chosen" }, `${method.name}, fold ${cellAt(runs.fold, i)}, seed ${cellAt(runs.seed, i)}: ${cellAt(runs.status, i)}`),
    repeating(method.repeatable, runs.key[i]),
    error ? el("pre", { tabindex: "0", class: "error" }, error) : "",
    ...titled("Scores", scoresOf(data, method, i)),
    remarks.length ? el("ul", { class: "note" }, remarks.map((text) => el("li", {}, text))) : "",
    ...titled("Diagnostics", facts(Object.entries(method.diagnostics).map(([name, column]) => [readable(name), scoreText(cellAt(column, i))]))),
    ...settingsOf(method),
    ...titled("Cost", facts(costsOf(data, runs, i))),
    ...titled("Provenance", facts([["key", runs.key[i]], ["finished", cellAt(runs.finished, i)],
      ...Object.entries(data.origins[cellAt(runs.origin, i)]).map(([name, value]) => [readable(name), String(value)])])),
  ].filter((part) => part !== "");
}

const readable = (name) => name.replaceAll("_", " ");
const titled = (title, body) => (body ? [el("h3", {}, title), body] : []);

function facts(entries) {
  const known = entries.filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return known.length ? el("dl", {}, known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])) : null;
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

// Costs with their units, by their names in records.
function costsOf(data, runs, i) {
  const units = { peak_bytes: ["MiB", 2 ** -20], fit_joules: ["J", 1], busy_elsewhere: ["%", 100] };
  return Object.entries(data.costs)
    .map(([name, title]) => [name, title, cellAt(runs[name], i)])
    .filter(([name, , value]) => value !== null && value !== undefined && !(name === "compile_seconds" && value === 0))
    .map(([name, title, value]) => {
      const [unit, scale] = units[name] ?? [name.endsWith("_seconds") ? "s" : "", 1];
      return [title === name.replaceAll("_", " ") ? title : title.toLowerCase(), `${scoreText(value, scale)} ${unit}`.trim()];
    });
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
