// Score against cost: margins behind the first, against the seconds of a fit.

const PLOT = { width: 560, height: 340, left: 54, right: 540, top: 22, bottom: 300 };

function costChart(ranking) {
  const rows = ranking.compared.filter((row) => row.seconds > 0);
  if (rows.length < 2) return el("figure", {}, el("p", { class: "note" }, "No times to compare."));
  const { left, right, top, bottom } = PLOT;
  const margins = rows.map((row) => row.margin).sort((a, b) => a - b);
  const deepest = margins[Math.max(1, Math.ceil(0.85 * margins.length) - 1)] || margins.at(-1) || 1;
  const below = rows.filter((row) => row.margin > deepest);
  const logs = rows.map((row) => Math.log10(row.seconds));
  const [least, most] = [Math.min(...logs) - 0.12, Math.max(...logs) + 0.12];
  const x = (seconds) => left + ((Math.log10(seconds) - least) / (most - least)) * (right - left);
  const y = (margin) => top + (Math.min(margin / deepest, 1)) * (bottom - top - 14) + 6;
  const chart = svg("svg", {
    class: "chart", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img",
    "aria-label": "Score against seconds of a fit; the table has the same numbers.",
  });
  chart.append(svg("text", { class: "axis", x: left, y: 10 }, `↑ better: ${ranking.scale.unit} behind the first`));
  for (const seconds of timeTicks(10 ** least, 10 ** most)) {
    chart.append(svg("line", { class: "grid", x1: x(seconds), x2: x(seconds), y1: top, y2: bottom }));
    chart.append(svg("text", { class: "axis", x: x(seconds), y: bottom + 16, "text-anchor": "middle" }, tickText(seconds)));
  }
  for (const margin of marginTicks(deepest)) {
    chart.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(margin), y2: y(margin) }));
    chart.append(svg("text", { class: "axis", x: left - 6, y: y(margin) + 4, "text-anchor": "end" }, margin ? typographic(String(-margin)) : "0"));
  }
  const unit = ranking.task.ofProcessors ? "processor seconds a fit" : "seconds a fit";
  chart.append(svg("text", { class: "axis", x: right, y: bottom + 33, "text-anchor": "end" }, `${unit}, mean over the data sets →`));
  const front = staircase(rows);
  chart.append(svg("path", { class: "front", d: stairs(front, x, y, bottom) }));
  const pins = readState().pin;
  const marks = rows.map((row) => {
    const strong = pins.length
      ? pins.includes(slugOfMethod(row.method))
      : row.state !== "worse" || front.includes(row);
    return { row, strong, x: x(row.seconds), y: y(row.margin) };
  });
  const placed = placeLabels(marks.filter((m) => m.strong), marks);
  for (const { row, strong, x: cx, y: cy } of [...marks].sort((a, b) => a.strong - b.strong)) {
    const family = ranking.task.families[row.method];
    const spot = placed.get(row.method) ?? { x: cx + 9, y: cy + 4, anchor: "start", hidden: true };
    chart.append(svg("g", {
      class: `method ${slugOf(family)}${strong ? " strong" : ""}${spot.hidden ? "" : " placed"}`,
      "data-method": row.method, onclick: () => togglePin(row.method),
    },
      shape(family, cx, cy, 5, { class: "dot" }),
      svg("text", { class: "name", x: spot.x, y: spot.y, "text-anchor": spot.anchor }, row.method)));
  }
  const caption = [];
  caption.push(pins.length ? "Coloured: pinned methods." : "Coloured: not shown to be worse, or on the dashed line: no method is both cheaper and better.");
  caption.push(" A click pins a method.");
  if (below.length)
    caption.push(` At the lower edge and beyond it: ${below.map((row) => `${row.method} (${typographic(`-${digits(row.margin, 3)}`)})`).join(", ")}.`);
  const families = [...new Set(rows.map((row) => ranking.task.families[row.method]))];
  return el("figure", {}, chart,
    el("ul", { class: "key" }, families.map((family) => el("li", {}, mark(family), family))),
    el("figcaption", { class: "note" }, caption),
    ranking.task.ofProcessors ? null : el("p", { class: "banner caution" },
      "Do not rank methods by these times: they are wall times, and include the start of a process. ",
      "Newer runs record processor seconds after a warm-up."));
}

const TIMES = [1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 36000];

function timeTicks(low, high) {
  const usual = TIMES.filter((time) => low <= time && time <= high);
  if (usual.length >= 3) return usual;
  const fine = [-3, -2, -1, 0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((k) => k * 10 ** power));
  return fine.filter((time) => low <= time && time <= high);
}

const tickText = (seconds) =>
  seconds < 1 ? `${digits(1000 * seconds, 2)} ms`
  : seconds < 60 ? `${digits(seconds, 2)} s`
  : seconds < 3600 ? `${digits(seconds / 60, 2)} min` : `${digits(seconds / 3600, 2)} h`;

function marginTicks(deepest) {
  const rough = deepest / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough);
  const ticks = [];
  for (let k = 0; k * step <= deepest; k++) ticks.push(Number((k * step).toPrecision(6)));
  return ticks;
}

// The methods for which no other is both cheaper and better, the cheapest first.
function staircase(rows) {
  const byTime = [...rows].sort((a, b) => a.seconds - b.seconds || a.margin - b.margin);
  const front = [];
  for (const row of byTime)
    if (!front.length || row.margin < front.at(-1).margin) front.push(row);
  return front;
}

function stairs(front, x, y, bottom) {
  let path = `M${x(front[0].seconds)} ${bottom}`;
  for (const row of front) path += `H${x(row.seconds)}V${y(row.margin)}`;
  return `${path}H${PLOT.right}`;
}

const PEN = document.createElement("canvas").getContext("2d");

// The width of a label, in the units of the chart.
function widthOf(text) {
  PEN.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
  return PEN.measureText(text).width;
}

// Labels at the first of eight places where they overlap neither labels nor marks.
function placeLabels(strong, marks) {
  const taken = marks.map((m) => ({ left: m.x - 6, right: m.x + 6, top: m.y - 6, bottom: m.y + 6 }));
  const placed = new Map();
  for (const { row, x, y } of [...strong].sort((a, b) => a.row.margin - b.row.margin)) {
    const wide = widthOf(row.method);
    const spots = [
      [x + 9, y + 4, "start"], [x - 9, y + 4, "end"], [x, y - 9, "middle"], [x, y + 18, "middle"],
      [x + 7, y - 7, "start"], [x + 7, y + 15, "start"], [x - 7, y - 7, "end"], [x - 7, y + 15, "end"],
    ];
    for (const [px, py, anchor] of spots) {
      const start = anchor === "start" ? px : anchor === "end" ? px - wide : px - wide / 2;
      const box = { left: start, right: start + wide, top: py - 10, bottom: py + 3 };
      const own = { left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 };
      const free = taken.every((t) => (t.left === own.left && t.top === own.top) || apart(t, box));
      if (free && box.left >= 0 && box.right <= PLOT.width && box.top >= 0) {
        taken.push(box);
        placed.set(row.method, { x: px, y: py, anchor });
        break;
      }
    }
  }
  return placed;
}

const apart = (a, b) =>
  a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top;
