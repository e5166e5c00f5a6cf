// Every data set: means with intervals, shaded by the distance from the column's best.

function cellOf(task, scale, column, method) {
  const samples = entriesOf(entriesOf(task.scores[scale.name][column.id]).get(method));
  const asked = entriesOf(entriesOf(task.keys[column.id]).get(method));
  if (!samples.size) return { absent: asked.size ? endOf(asked) : "not run", runs: asked.size };
  const values = replicatesOf(samples, inOrder([...samples.keys()]), column.byFold);
  const half = halfWidth(values, column.byFold ? column.overlap : 0);
  return { mean: mean(values), half, runs: samples.size, asked: asked.size };
}

const endOf = (asked) => [...asked.values()][0].split(" ")[1] ?? "not scored";

function heatMap(ranking) {
  const { task, scale } = ranking;
  const ranks = ranking.rows.map((row) => row.method);
  const others = task.methods.filter((m) => !ranks.includes(m) && !task.constants.includes(m));
  const methods = [...ranks, ...others, ...task.constants];
  const percent = scale.scale === 100 && !scale.ratio ? 100 : 1;
  const body = methods.map((method) =>
    el("tr", { "data-method": method, class: slugOf(task.families[method]) },
      el("th", { scope: "row" }, mark(task.families[method]), method)));
  task.columns.forEach((column) => {
    const cells = methods.map((method) => cellOf(task, scale, column, method));
    const distances = shades(cells, scale, methods, task.constants);
    const places = placesFor(cells.map((cell) => cell.half * percent));
    cells.forEach((cell, k) => {
      body[k].append(el("td", {}, cell.absent
        ? el("span", { class: "absent" }, cell.absent)
        : heatButton(cell, column, methods[k], distances[k], places, percent)));
    });
  });
  const titles = task.columns.map((column) => el("th", { class: "number" }, column.title));
  const table = el("table", { class: "heat", onkeydown: moveByArrows },
    el("thead", {}, el("tr", {}, el("td"), titles)), el("tbody", {}, body));
  const first = table.querySelector("button");
  if (first) first.tabIndex = 0;
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Every data set" }, table);
}

function heatButton(cell, column, method, shade, places, percent) {
  const error = cell.half === null ? "" : ` ± ${fixed(cell.half * percent, places)}`;
  const some = cell.runs < cell.asked ? ` (${cell.runs} of ${cell.asked} runs)` : "";
  return el("button", {
    class: `h${shade.level}${shade.best ? " best-mean" : ""}`, tabindex: "-1",
    "data-open": `${slugOfMethod(method)}/${column.slug}`,
    onclick: () => writeState({ open: `${slugOfMethod(method)}/${column.slug}`, run: "" }),
  }, `${fixed(cell.mean * percent, places)}${error}${some}`);
}

// Quarters of the 75th percentile of distances from the best; a constant is never the best.
function shades(cells, scale, methods, constants) {
  const sign = scale.up ? -1 : 1;
  const known = cells.filter((cell, k) => !cell.absent && !constants.includes(methods[k]));
  const best = Math.min(...known.map((cell) => sign * cell.mean));
  const distances = known.map((cell) => sign * cell.mean - best).sort((a, b) => a - b);
  const usual = distances[Math.min(distances.length - 1, Math.floor(0.75 * distances.length))] || 1;
  return cells.map((cell, k) => {
    const distance = sign * cell.mean - best;
    const level = Math.max(0, Math.min(4, Math.floor((4 * distance) / usual)));
    return { level: Number.isFinite(level) ? level : 4, best: distance === 0 && !constants.includes(methods[k]) };
  });
}
