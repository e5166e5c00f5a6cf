// Replicates of two methods plotted against each other, one plot per data set.

const PANEL = { size: 176, left: 42, right: 172, top: 6, bottom: 136 };

function replicatePlots(first, second, lines) {
  const { task, scale } = lines[0];
  const unit = scale.scale === 100 && !scale.ratio ? ", in %" : "";
  return [
    el("h2", {}, `Run by run: ${scale.title}`),
    el("p", { class: "note" },
      `${capital(titleOf(task))}. Every mark is a fold and a seed that both have: ${first} on the horizontal axis, ${second} on the vertical axis${unit}. ` +
      `In the shaded half ${first} is better; on the dashed line both are equal.`),
    el("div", { class: "scatters" }, lines.map((line) => replicatePlot(first, second, line))),
  ];
}

function replicatePlot(first, second, { task, scale, column }) {
  const of = entriesOf(task.scores[scale.name][column.id]);
  const [ours, theirs] = [first, second].map((method) => entriesOf(of.get(method)));
  const runs = inOrder([...ours.keys()].filter((run) => theirs.has(run)));
  const factor = scale.scale === 100 && !scale.ratio ? 100 : 1;
  const pairs = runs.map((run) => [run, factor * ours.get(run), factor * theirs.get(run)]);
  const better = runs.filter((run) => lowered(scale, ours.get(run)) < lowered(scale, theirs.get(run))).length;
  const words = `${first} better in ${better} of ${runs.length}`;
  const values = pairs.flatMap(([, a, b]) => [a, b]).filter(Number.isFinite);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || Math.abs(high) || 1;
  const { left, right, top, bottom, size } = PANEL;
  const share = (value) => 0.06 + (0.88 * (value - low)) / span;
  const x = (value) => left + share(value) * (right - left);
  const y = (value) => bottom - share(value) * (bottom - top);
  const plot = svg("svg", { viewBox: `0 0 ${size} 166`, role: "img", "aria-label": `${column.title}: ${words}` });
  const corner = scale.up ? `${right} ${bottom}` : `${left} ${top}`;
  plot.append(
    svg("path", { class: "better", d: `M${left} ${bottom}L${right} ${top}L${corner}Z` }),
    svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }),
    svg("line", { class: "diagonal", x1: left, y1: bottom, x2: right, y2: top }));
  for (const [value, anchor] of [[low, "start"], [high, "end"]]) {
    const text = typographic(digits(value, 3));
    plot.append(svg("text", { x: anchor === "start" ? left : right, y: bottom + 13, "text-anchor": anchor }, text));
    plot.append(svg("text", { x: left - 4, y: anchor === "start" ? bottom : top + 9, "text-anchor": "end" }, text));
  }
  plot.append(
    svg("text", { x: (left + right) / 2, y: bottom + 27, "text-anchor": "middle" }, shortened(first)),
    svg("text", { transform: `translate(9 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, shortened(second)));
  for (const [run, a, b] of pairs) {
    if (!Number.isFinite(a) || !Number.isFinite(b)) continue;
    const [fold, seed] = pairOf(run);
    const which = column.seeds > 1 ? `mean of ${column.seeds} seeds` : `seed ${seed}`;
    const title = `fold ${fold}, ${which}: ${first} ${typographic(digits(a, 4))}, ${second} ${typographic(digits(b, 4))}`;
    plot.append(svg("circle", { cx: x(a), cy: y(b), r: 3.5, "data-run": run }, svg("title", {}, title)));
  }
  return el("figure", { "data-column": column.id }, plot,
    el("figcaption", { class: "note" }, el("strong", {}, column.title), ` ${words}`));
}

const shortened = (name) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);
