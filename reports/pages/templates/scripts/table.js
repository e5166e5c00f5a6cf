// The ranking: places, margins with their intervals, times and states.

const STATES = {
  best: "best", leads: "best mean", equal: "practically equal", worse: "worse", undecided: "undecided",
  fails: "fails", "": "not tested",
};

// Families that every table names beside the method.
const YARDSTICKS = new Set(["not a network", "pretrained on tables", "Gaussian processes"]);

const WIDTH = 145;

function timeText(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 1e-3) return "< 1 ms";
  return seconds < 1 ? `${digits(1000 * seconds, 3)} ms` : duration(seconds);
}

function marginText(row, ranking) {
  return row.margin === 0 ? "0" : fixed(row.margin, ranking.scale.scale === 1 ? 3 : 2);
}

function rankingTable(ranking) {
  const { rows, compared, scale } = ranking;
  const unit = scale.ratio ? "% larger RMSE" : scale.unit;
  const extent = barExtent(ranking);
  const head = el("tr", {},
    el("td"), el("th", {}, "Method"), el("th", { class: "bars" }, "Behind the first"),
    el("th", { class: "number" }, unit), el("th", { class: "number" }, "Fit"), el("th", {}, "State"),
    el("td", { class: "pin-head" }));
  const body = rows.map((row, place) => {
    const family = ranking.task.families[row.method];
    const apart = row.margin === null;
    const first = place === 0 && !apart;
    const kind = apart ? "apart" : row.state;
    return el("tr", {
      class: `${kind} ${slugOf(family)} ${first ? "first" : ""}`.trim(), "data-method": row.method,
    },
      el("td", { class: "number" }, apart ? "" : String(place + 1)),
      el("td", {}, mark(family), el("a", { href: methodPage(row.method) }, row.method),
        YARDSTICKS.has(family) ? el("small", {}, ` ${family}`) : null),
      el("td", { class: "bars" }, apart ? null : bar(row, extent, family)),
      el("td", { class: "number", title: intervalText(row, ranking) }, apart ? "–" : marginText(row, ranking)),
      el("td", { class: "number" }, timeText(row.seconds)),
      el("td", { class: "state", title: reasonFor(row, ranking) },
        el("span", {}, apart ? row.words : stateText(row))),
      el("td", { class: "pin-head" }, pinButton(row.method)));
  });
  return el("table", { class: "ranking" },
    el("caption", { class: "hidden" }), el("thead", {}, head), el("tbody", {}, body));
}

const stateText = (row) => (row.state === "fails" ? `fails on ${joined(row.fails)}` : STATES[row.state]);

function intervalText(row, ranking) {
  if (row.low === null) return null;
  const places = ranking.scale.scale === 1 ? 4 : 2;
  return `${fixed(row.low, places)} to ${fixed(row.high, places)}`;
}

function reasonFor(row, ranking) {
  if (row.margin === null) return `not compared: ${row.words}`;
  if (row.witness >= 0)
    return `worse than ${ranking.found.names[row.witness]} (p = ${digits(row.adjusted, 2)})`;
  if (row.state === "equal") return `within ${marginOf(ranking.scale)} of every method that may be best (p = ${digits(row.equal, 2)})`;
  if (row.state === "fails") return `worse there than a constant prediction; not shown to be worse over all (p = ${digits(row.adjusted, 2)})`;
  if (row.state === "undecided") return `not shown to be worse (p = ${digits(row.adjusted, 2)})`;
  return null;
}

function barExtent(ranking) {
  const margins = ranking.compared.map((row) => row.margin).sort((a, b) => a - b);
  const usual = margins[Math.min(margins.length - 1, Math.ceil(0.8 * margins.length) - 1)] ?? 0;
  return Math.max(1.25 * usual, 2 * (ranking.scale.margin ?? 0), 1e-9);
}

function bar(row, extent, family) {
  const x = (value) => ((value + 0.7 * extent) / (1.7 * extent)) * (WIDTH - 12) + 6;
  const inside = (value) => Math.min(Math.max(value, 1), WIDTH - 1);
  const drawn = svg("svg", { class: "interval", viewBox: `0 0 ${WIDTH} 16`, "aria-hidden": "true" });
  drawn.append(svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 16 }));
  if (row.low !== null) {
    const [low, high] = [inside(x(row.low)), inside(x(row.high))];
    drawn.append(svg("line", { class: "line", x1: low, x2: high, y1: 8, y2: 8 }));
    // An arrowhead if the interval continues beyond the edge.
    if (x(row.low) < low) drawn.append(svg("path", { class: "line", d: `M${low + 4} 4.5L${low} 8L${low + 4} 11.5` }));
    if (x(row.high) > high) drawn.append(svg("path", { class: "line", d: `M${high - 4} 4.5L${high} 8L${high - 4} 11.5` }));
  }
  const centre = x(row.margin);
  if (centre <= WIDTH - 4) drawn.append(shape(family, centre, 8, 4.2, { class: "shape" }));
  else drawn.append(svg("path", { class: "shape", d: `M${WIDTH - 8} 3.5L${WIDTH - 1} 8L${WIDTH - 8} 12.5Z` }));
  return drawn;
}

function pinButton(method) {
  const pinned = readState().pin.includes(slugOfMethod(method));
  return el("button", {
    class: "pin", "aria-pressed": String(pinned), "aria-label": `Pin ${method}`,
    onclick: () => togglePin(method),
  }, pinned ? "●" : "○");
}

function togglePin(method) {
  const pins = readState().pin;
  const slug = slugOfMethod(method);
  const kept = pins.includes(slug) ? pins.filter((one) => one !== slug) : [...pins, slug].slice(-4);
  writeState({ pin: kept });
}
