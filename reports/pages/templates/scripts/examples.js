// The examples on which two methods differ most, and each method's worst predictions.

function startExamples(data) {
  const draw = () => drawExamples(data);
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, draw);
  draw();
}

// The selected pair, as method numbers; by default the first pair of this page.
function chosenPair(data, state) {
  const own = Object.keys(data.pairs);
  const every = new Set([...own, ...data.neighbours.flatMap((one) => one.pairs)]);
  const named = (slug) => data.methods.findIndex((method) => slugOfMethod(method) === slug);
  const partner = (one) => data.methods.findIndex((_, other) => every.has(pairName(one, other)));
  let [a, b] = [named(state.a), named(state.b)];
  if (a < 0 && b < 0) [a, b] = data.pairs[own[0]].methods;
  else if (a < 0) a = partner(b);
  else if (b < 0) b = partner(a);
  const name = pairName(a, b);
  const next = Object.hasOwn(data.pairs, name) ? null : data.neighbours.find((one) => one.pairs.includes(name));
  return { a, b, name, next };
}

const pairName = (one, other) => `${Math.min(one, other)}-${Math.max(one, other)}`;

function drawExamples(data) {
  const { a, b, name, next } = chosenPair(data, readState());
  if (next) {
    location.replace(`${next.address}${location.hash}`);
    return;
  }
  for (const link of document.querySelectorAll("[data-keep]")) link.hash = location.hash;
  byId("question").replaceChildren(
    methodOf(data, "a", "Where do", a, b), " ", methodOf(data, "b", "and", b, a), " differ?");
  const found = Object.hasOwn(data.pairs, name) ? seenFrom(data.pairs[name], a > b) : null;
  const [headline, sentences] = wordsOn(data, a, b, found);
  byId("headline").textContent = headline;
  byId("sentences").textContent = sentences;
  byId("counts").replaceChildren(...(found && data.kind === "classes" ? [countsTable(data, a, b, found)] : []));
  byId("basis").replaceChildren(...(found ? [basis(data, a, b, found)] : []));
  byId("scatter").replaceChildren(...(found ? [scatter(data, a, b, found)] : []));
  byId("lists").replaceChildren(...(found ? lists(data, a, b, found) : []));
}

// A pair with its methods swapped.
function seenFrom(pair, swapped) {
  if (!swapped) return { ...pair, swapped };
  const [both, one, other, none] = pair.counts;
  return {
    ...pair, swapped, counts: [both, other, one, none],
    means: [...pair.means].reverse(), worst: [...pair.worst].reverse(),
  };
}

function methodOf(data, name, words, own, other) {
  const select = el("select", {
    "data-name": name,
    onchange: (event) => {
      const chosen = { [name]: event.target.value, [name === "a" ? "b" : "a"]: slugOfMethod(data.methods[other]) };
      writeState({ a: chosen.a, b: chosen.b });
      document.querySelector(`select[data-name=${name}]`)?.focus();
    },
  }, data.methods.map((method, k) => el("option", { value: slugOfMethod(method), selected: k === own }, method)));
  return el("label", {}, `${words} `, select);
}

function wordsOn(data, a, b, found) {
  const [first, second] = [data.methods[a], data.methods[b]];
  if (a === b) return ["Choose two methods.", ""];
  if (!found) return [`${first} and ${second} have no fold in common.`, ""];
  const means = `Mean log score: ${first} ${scoreOf(found.means[0])}, ${second} ${scoreOf(found.means[1])} nats.`;
  const { examples } = found;
  if (data.kind === "reals") {
    const [, better, worse] = found.counts;
    return [`${first} has the higher log score on ${better} of ${examples} rows, ${second} on ${worse}.`, means];
  }
  const [both, one, other, none] = found.counts;
  const parted = found.parted
    ? `${first} and ${second} assign different classes to ${found.parted} of ${examples} examples.`
    : `${first} and ${second} assign the same classes to all ${examples} examples.`;
  return [parted, `Both are right on ${both}, only ${first} on ${one}, only ${second} on ${other}, neither on ${none}. ${means}`];
}

function countsTable(data, a, b, found) {
  const [both, one, other, none] = found.counts;
  const head = (text) => el("th", { scope: "col", class: "number" }, text);
  const row = (text, ...numbers) => el("tr", {}, el("th", { scope: "row" }, text),
    numbers.map((number) => el("td", { class: "number" }, String(number))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Counts" },
    el("table", {}, el("thead", {}, el("tr", {}, el("td"), head(`${data.methods[b]} right`), head("wrong"))),
      el("tbody", {}, row(`${data.methods[a]} right`, both, one), row("wrong", other, none))));
}

function basis(data, a, b, found) {
  const folds = isOne(found.folds) ? "fold" : "folds";
  const seeds = [a, b].map((k) => `${data.methods[k]}: ${data.seeds[k]}`).join("; ");
  return el("p", { class: "note" }, `${found.examples} examples of ${folds} ${found.folds}. ${seeds}.`);
}

// Numbers as text; null stands for an infinite log score, if the target has no probability.
function withError(mean, deviation) {
  const places = deviation > 0 ? Math.min(Math.max(1 - Math.floor(Math.log10(deviation)), 0), 6) : 3;
  return `${fixed(mean, places)} ± ${fixed(deviation, places)}`;
}
const scoreOf = (value) => (value === null ? "−∞" : fixed(value, 2));
const percent = (value) => `${fixed(100 * value, 1)}\u00a0%`;

// Log scores of both: squares count examples; rings mark the examples of the first list below.
const SIDE = 300;
const EDGE = 46;
function scatter(data, a, b, found) {
  const { bins, ends: [low, high] } = data;
  const step = SIDE / bins;
  const drawn = svg("svg", { class: "joint", viewBox: `0 0 ${SIDE + EDGE + 8} ${SIDE + EDGE}`, role: "img",
    "aria-label": `Log scores of ${data.methods[a]} and ${data.methods[b]} on ${found.examples} examples` });
  drawn.append(svg("rect", { class: "frame", x: EDGE, y: 4, width: SIDE, height: SIDE }));
  drawn.append(svg("line", { class: "diagonal", x1: EDGE, y1: SIDE + 4, x2: EDGE + SIDE, y2: 4 }));
  const most = Math.max(...found.cells.filter((_, k) => k % 2));
  for (let k = 0; k < found.cells.length; k += 2) {
    const [row, column] = [Math.floor(found.cells[k] / bins), found.cells[k] % bins];
    const [x, y] = found.swapped ? [row, column] : [column, row];
    const shade = 0.3 + (0.7 * Math.log1p(found.cells[k + 1])) / Math.log1p(most);
    drawn.append(svg("rect", { class: "cell", x: EDGE + x * step, y: 4 + SIDE - (y + 1) * step, width: step,
      height: step, "fill-opacity": shade.toFixed(2) }));
  }
  const place = (score) => Math.min(Math.max(((score ?? -Infinity) - low) / (high - low), 0), 1) * SIDE;
  for (const [id] of found.different) {
    const [x, y] = [a, b].map((k) => place(data.said[k][id].at(-1)));
    drawn.append(svg("circle", { class: "ring", "data-example": id, cx: EDGE + x, cy: 4 + SIDE - y, r: 5 }));
  }
  const label = (x, y, text, anchor) => svg("text", { x, y, "text-anchor": anchor }, text);
  drawn.append(
    label(EDGE, SIDE + 20, scoreOf(low), "start"), label(EDGE + SIDE, SIDE + 20, scoreOf(high), "end"),
    label(EDGE - 5, SIDE + 4, scoreOf(low), "end"), label(EDGE - 5, 14, scoreOf(high), "end"),
    label(EDGE + SIDE / 2, SIDE + 36, data.methods[a], "middle"),
    svg("text", { "text-anchor": "middle", transform: `translate(13 ${SIDE / 2}) rotate(-90)` }, data.methods[b]));
  return el("figure", {}, drawn, el("figcaption", { class: "note" },
    "Log scores in nats, better to the right and above; the lowest twentieth is collected at the edge. " +
    "Dark squares hold many examples; rings are the examples of the first list."));
}

function lists(data, a, b, found) {
  const distances = new Map(found.different);
  const kinds = [
    [data.kind === "classes" ? "Where their predictions differ most" : "Where their log scores differ most",
      found.different.map(([id]) => id)],
    ...[a, b].map((k, side) => [`Worst of ${data.methods[k]} by log score`, found.worst[side]]),
  ];
  return kinds.flatMap(([title, ids], k) => {
    if (!ids.length) return [el("h2", {}, title), el("p", { class: "note" }, "They are equal on all examples.")];
    const pictures = ids.every((id) => data.examples[id].image);
    const shown = (pictures ? cards : rows)(data, a, b, found, ids, k ? null : distances, title);
    return [el("h2", {}, title), shown];
  });
}

const isOne = (numbers) => /^\d+$/.test(numbers);
const placeOf = (found, fold, row) => (isOne(found.folds) ? `row ${row}` : `row ${row} of fold ${fold}`);
const capital = (text) => text[0].toUpperCase() + text.slice(1);

function cards(data, a, b, found, ids, distances) {
  return el("ol", { class: "examples" }, ids.map((id) => {
    const { at: [fold, row], target, image, size: [width, height] } = data.examples[id];
    const where = placeOf(found, fold, row);
    const distance = distances ? `, distance ${fixed(distances.get(id), 2)}` : "";
    return el("li", lifting(id),
      el("img", { src: image, width: 64, height: Math.round((64 * height) / width), alt: `Test image, ${where}` }),
      el("div", {}, el("p", {}, "Target ", el("strong", {}, data.classes[target])),
        [a, b].map((k) => el("p", {}, mark(data.families[k]), `${data.methods[k]}: `, answerOf(data, k, id))),
        el("p", { class: "note" }, `${capital(where)}${distance}`)));
  }));
}

// The most probable class, in bold if it is right, the target's probability, and the log score.
function answerOf(data, k, id) {
  const [top, probability, ofTarget, score] = data.said[k][id];
  const right = top === data.examples[id].target;
  const text = `${data.classes[top]} (${percent(probability)})`;
  return el("span", {}, right ? el("strong", {}, text) : text,
    el("small", {}, right ? ` right, ${scoreOf(score)} nats` : ` target ${percent(ofTarget)}, ${scoreOf(score)} nats`));
}

function rows(data, a, b, found, ids, distances, title) {
  const [targetName, unit] = data.target;
  const real = data.kind === "reals";
  const head = [["Example"], [real ? `${targetName}${unit ? `, ${unit}` : ""}` : "Target", "number"],
    ...[a, b].flatMap((k) => [[data.methods[k], real ? "number" : ""], ["log score", "number"]]),
    ...(distances ? [[real ? "difference" : "distance", "number"]] : [])];
  const body = ids.map((id) => {
    const { at: [fold, row], target, features } = data.examples[id];
    const answers = [a, b].flatMap((k) => {
      const said = data.said[k][id];
      const text = real ? withError(said[0], said[1]) : `${data.classes[said[0]]} (${percent(said[1])})`;
      return [el("td", { class: real ? "number" : null }, text), el("td", { class: "number" }, scoreOf(said.at(-1)))];
    });
    const inputs = (features ?? []).flatMap(([name, value]) =>
      [el("span", {}, data.features[name], " ", el("b", {}, typographic(value))), " "]);
    return el("tbody", lifting(id), el("tr", {},
      el("th", { scope: "row" }, capital(placeOf(found, fold, row))),
      el("td", { class: "number" }, real ? typographic(String(target)) : data.classes[target]),
      answers,
      distances ? el("td", { class: "number" }, distances.get(id) === null ? "∞" : fixed(distances.get(id), 2)) : ""),
    inputs.length ? el("tr", {}, el("td", { colspan: head.length }, el("p", { class: "inputs" }, inputs))) : "");
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, head.map(([text, kind]) => el("th", { scope: "col", class: kind || null }, text)))), body));
}

// Pointing at an example highlights its ring in the plot of log scores.
function lifting(id) {
  const lift = (on) => () => {
    for (const ring of document.querySelectorAll(".ring")) ring.classList.toggle("lit", on && ring.dataset.example === id);
  };
  return { onpointerenter: lift(true), onpointerleave: lift(false) };
}
