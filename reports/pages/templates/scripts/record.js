// One run, wherever it is opened: a table of runs, and the details of the chosen one.

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

// A button for each run, and columns of texts: a title, a text of each run, and "text" if they are no numbers.
function runTable(label, keys, columns, chosen, choose) {
  const kind = (of) => (of === "text" ? "text" : "number");
  const head = columns.map(([title, , of]) => el("th", { scope: "col", class: kind(of) }, title));
  const rows = keys.map((key, i) => el("tr", { class: i === chosen ? "lit" : null },
    el("td", { class: "text" }, el("button", {
      class: "key-of-run", "aria-pressed": String(i === chosen), onclick: () => choose(key, i),
    }, key.slice(0, 8))),
    columns.map(([, texts, of]) => el("td", { class: kind(of) }, texts[i]))));
  return el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": label },
    el("table", {}, el("caption", { class: "hidden" }, label),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "text" }, "run"), head)), el("tbody", {}, rows)));
}

// The details of run i of a method: `of` has its columns and the parts that pages arrange themselves.
function runDetails(of, i) {
  const { runs } = of;
  const error = ownOf(runs.errors, String(i));
  const remarks = ownOf(of.remarks, String(i)) ?? [];
  const diagnostics = Object.entries(of.diagnostics ?? {}).map(([name, column]) => [readable(name), scoreText(cellAt(column, i))]);
  const provenance = [["key", runs.key[i]], ["finished", cellAt(runs.finished, i)],
    ...(runs.store === undefined ? [] : [["store", of.stores[cellAt(runs.store, i)]]]),
    ...Object.entries(of.origins[cellAt(runs.origin, i)] ?? {}).map(([name, value]) => [readable(name), String(value)])];
  return [
    el(of.heading, { id: "chosen" }, `${of.name}, fold ${cellAt(runs.fold, i)}, seed ${cellAt(runs.seed, i)}: ${cellAt(runs.status, i)}`),
    repeating(of.repeatable, runs.key[i]),
    of.page ? el("p", {}, el("a", { href: `${of.page}#method=${slugOfMethod(of.name)}&run=${runs.key[i].slice(0, 8)}` }, "This run on its own page")) : null,
    error ? el("pre", { tabindex: "0", class: "error" }, error) : null,
    ...titled("Scores", of.shown),
    remarks.length ? el("ul", { class: "note" }, remarks.map((text) => el("li", {}, text))) : null,
    ...titled("Diagnostics", facts(diagnostics)),
    ...(of.settings ?? []),
    ...titled("Cost", facts(costsOf(of.costs, runs, i))),
    ...(of.folded ? folded("Provenance", facts(provenance)) : titled("Provenance", facts(provenance))),
  ].filter((part) => part !== null);
}

const readable = (name) => name.replaceAll("_", " ");
const titled = (title, body) => (body ? [el("h3", {}, title), body] : []);

function facts(entries) {
  const known = entries.filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return known.length ? el("dl", {}, known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])) : null;
}

const folded = (title, body) => (body ? [el("details", {}, el("summary", {}, title), body)] : []);

// Costs with their units, by their names in records.
function costsOf(costs, runs, i) {
  const units = { peak_bytes: ["MiB", 2 ** -20], fit_joules: ["J", 1], busy_elsewhere: ["%", 100] };
  return Object.entries(costs)
    .map(([name, title]) => [name, title, cellAt(runs[name], i)])
    .filter(([name, , value]) => value !== null && value !== undefined && !(name === "compile_seconds" && value === 0))
    .map(([name, title, value]) => {
      const [unit, scale] = units[name] ?? [name.endsWith("_seconds") ? "s" : "", 1];
      return [title === name.replaceAll("_", " ") ? title : title.toLowerCase(), `${scoreText(value, scale)} ${unit}`.trim()];
    });
}

function repeating(repeatable, key) {
  if (repeatable) return commandLine(`bnnbench repeat ${key}`);
  return el("p", { class: "note" }, "This run was stored without the data needed to repeat it: it can be viewed, but not repeated.");
}

function commandLine(command) {
  const copy = el("button", { type: "button", class: "tool", onclick: () => copied(command, copy) }, "Copy");
  return el("div", { class: "command" }, el("pre", { tabindex: "0" }, command), copy);
}
