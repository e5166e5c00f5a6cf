// The overview: the page shows states that were computed when the site was built.

const CELL_WORDS = {
  b: "best: all others are worse or practically equal",
  f: "front: none is shown to be better, at least half are shown to be worse or it is practically equal to the best",
  m: "middle: up to half are shown to be better",
  k: "back: more than half are shown to be better",
  u: "undecided: none is shown to be better, and fewer than half to be worse",
};
const CELL_NAMES = { b: "best", f: "front", m: "middle", k: "back", u: "undecided", x: "fails" };
const CHIPS = ["b", "f", "s", "u", "n"];
const COUNTED = [
  ["has a best method", "have a best method"], ["has a leader", "have a leader"],
  ["has a first that is not shown to be best", "have a first that is not shown to be best"],
  ["is not decided", "are not decided"], ["is not yet run", "are not yet run"],
];
const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const isNarrow = () => innerWidth <= 640;

async function startOverview(packed) {
  const data = await inflated(packed);
  data.parsed = data.states.map(([grade, name, sentence, facts, count, first, cells]) => ({
    grade, name: data.texts[name], sentence: data.texts[sentence], facts: facts.map((k) => data.texts[k]).join(" "), count,
    cells: new Map(cells.map(([method, kind, low, high, why]) =>
      [method, { method, kind, low, high, why: data.texts[why], first: method === first }])),
  }));
  const page = byId("overview");
  const rows = [...page.querySelectorAll("tbody tr[data-r]")];
  const draw = () => fillOverview(data, overviewState(data), rows);
  listen(data, rows);
  for (const name of ["statechange", "hashchange", "popstate"]) addEventListener(name, draw);
  draw();
  const asked = readState().ask;
  if (isNarrow() && !asked) for (const one of page.querySelectorAll("details[open]")) one.open = false;
  if (asked) openAnswer(asked);
}

function overviewState({ columns }) {
  const state = readState();
  const names = columns.map(([name]) => name);
  return {
    nets: state.nets === "0" ? "0" : "1",
    cost: ["30", "10", "3", "1"].includes(state.cost) ? state.cost : "x",
    family: state.family ?? "",
    sort: ["name", "cost", ...names].includes(state.sort) ? state.sort : "wins",
  };
}

const stateOf = (data, name, key) => data.parsed[data.byColumn[name][key]];
const keyOf = (data, state, row) => (data.rows[row.dataset.r][2] ? "0" : state.nets) + state.cost;
const variantsOf = (data, row) => {
  const own = data.rows[row.dataset.r][1];
  return row.dataset.v === undefined ? own : [own[row.dataset.v]];
};
const shownCell = (of, variants) => of.cells.get(variants.find((method) => of.cells.has(method)));
const placesText = (cell) => (cell.kind === "x" ? "fails" : cell.low === cell.high ? `${cell.low}` : `${cell.low}–${cell.high}`);

function fillOverview(data, state, rows) {
  const page = byId("overview");
  page.classList.toggle("nets", state.nets === "1");
  for (const row of rows) {
    const family = data.rows[row.dataset.r][4];
    row.classList.toggle("gone", Boolean(state.family) && state.family !== family && !data.rows[row.dataset.r][2]);
    data.columns.forEach((column, k) => fillCell(data, state, row, column, row.children[k + 1]));
  }
  const counts = [0, 0, 0, 0, 0];
  data.columns.forEach(([name], k) => {
    const of = stateOf(data, name, state.nets + state.cost);
    counts[of.grade] += 1;
    const answer = byId(`a-${name}`);
    const chip = answer.querySelector(".g");
    chip.className = `g ${CHIPS[of.grade]}`;
    chip.textContent = data.grades[of.grade];
    answer.querySelector("strong").textContent = of.name;
    answer.querySelector(".claim").textContent = of.sentence;
    answer.querySelector(".facts span").textContent = of.facts;
    const head = page.querySelector(".grades").children[k + 1];
    head.className = `g ${CHIPS[of.grade]}`;
    head.firstElementChild.textContent = data.grades[of.grade];
  });
  const told = counts.flatMap((n, g) => (n ? [`${NUMBERS[n] ?? n} ${COUNTED[g][n === 1 ? 0 : 1]}`] : []));
  const last = told.pop();
  const questions = `Of ${NUMBERS[data.columns.length] ?? data.columns.length} questions, `;
  byId("knowledge").textContent = `${questions}${told.length ? `${told.join(", ")} and ` : ""}${last}.`;
  byId("nets").checked = state.nets === "1";
  for (const name of ["cost", "family", "sort"]) byId(name).value = state[name];
  orderRows(data, state, page);
  oneStop(page);
}

function fillCell(data, state, row, [name, , , evidence], td) {
  const key = keyOf(data, state, row);
  const variants = variantsOf(data, row);
  const of = stateOf(data, name, key);
  const cell = shownCell(of, variants);
  td.className = "";
  td.replaceChildren();
  if (!cell) {
    const over = shownCell(stateOf(data, name, `${key[0]}x`), variants);
    if (over) { td.className = "o"; td.textContent = "over"; }
    return;
  }
  const address = key[0] === "0" && data.rows[row.dataset.r][2] + (state.nets === "0") ? `${evidence}&nets=0` : evidence;
  td.append(el("a", { href: address, tabindex: "-1" },
    el("b", {}, cell.kind === "x" ? "" : `${CELL_NAMES[cell.kind]}, place `), placesText(cell)));
  const behind = "mkx".includes(cell.kind) && variants.some((m) => "bf".includes(of.cells.get(m)?.kind ?? "-"));
  td.className = [cell.kind, cell.first ? "t" : "", behind ? "a" : ""].filter(Boolean).join(" ");
}

// The share of others shown to be worse, less the share shown to be better, over all questions.
function winsOf(data, state, row) {
  let wins = 0;
  for (const [name] of data.columns) {
    const of = stateOf(data, name, keyOf(data, state, row));
    const cell = shownCell(of, variantsOf(data, row));
    if (cell?.kind === "x") wins -= 1;
    else if (cell && of.count > 1) wins += (of.count - cell.high - cell.low + 1) / (of.count - 1);
  }
  return wins;
}

function orderRows(data, state, page) {
  for (const th of page.querySelectorAll(".heads th"))
    th.setAttribute("aria-sort", th.dataset.c === state.sort ? "ascending" : "none");
  const keyOfRow = (row) => {
    const [name, , , cost] = data.rows[row.dataset.r];
    const wins = winsOf(data, state, row);
    if (state.sort === "name") return [name.toLowerCase()];
    if (state.sort === "cost") return [cost ?? Infinity, -wins];
    if (state.sort === "wins") return [-wins, name.toLowerCase()];
    const cell = shownCell(stateOf(data, state.sort, keyOf(data, state, row)), variantsOf(data, row));
    return cell ? ["bfumkx".indexOf(cell.kind), cell.low, cell.high, -wins] : [9];
  };
  for (const body of page.querySelectorAll("tbody")) {
    const keyed = [...body.querySelectorAll("tr[data-r]:not(.v)")].map((row) => [keyOfRow(row), row]);
    keyed.sort(([a], [b]) => {
      const k = a.findIndex((value, place) => value !== b[place]);
      return k < 0 ? 0 : a[k] < b[k] ? -1 : 1;
    });
    for (const [, row] of keyed) body.append(row, ...body.querySelectorAll(`tr.v[data-r="${row.dataset.r}"]`));
  }
}

const visibleRows = () =>
  [...document.querySelectorAll("#overview tbody tr[data-r]")].filter((row) => row.offsetParent);

// The body of the table is one stop of the tab key; arrows move inside.
function oneStop(page) {
  const focused = page.querySelector("tbody :is(a, button):focus");
  for (const one of page.querySelectorAll("tbody :is(a, button)")) one.tabIndex = -1;
  const first = focused ?? visibleRows()[0]?.querySelector("a");
  if (first) first.tabIndex = 0;
}

function listen(data, rows) {
  const page = byId("overview");
  const table = page.querySelector("table");
  byId("nets").addEventListener("change", (event) => writeState({ nets: event.target.checked ? "" : "0" }));
  byId("cost").addEventListener("change", (event) => writeState({ cost: event.target.value === "x" ? "" : event.target.value }));
  byId("family").addEventListener("change", (event) => writeState({ family: event.target.value }));
  byId("sort").addEventListener("change", (event) => writeState({ sort: event.target.value === "wins" ? "" : event.target.value }));
  byId("more").addEventListener("click", () => page.classList.add("every"));
  byId("unfold").addEventListener("click", (event) => {
    const open = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", String(open));
    for (const row of rows) unfold(row, open);
  });
  for (const button of page.querySelectorAll(".heads button"))
    button.addEventListener("click", () => {
      const column = button.parentElement.dataset.c;
      writeState({ sort: readState().sort === column ? "" : column });
      openAnswer(column);
    });
  for (const button of page.querySelectorAll("tbody th button"))
    button.addEventListener("click", () => unfold(button.closest("tr"), button.getAttribute("aria-expanded") !== "true"));
  const tell = (event) => {
    const cell = event.target.closest?.("tbody tr[data-r] > *");
    if (cell) tellOf(data, overviewState(data), cell);
  };
  table.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") tell(event); });
  table.addEventListener("focusin", tell);
  table.addEventListener("click", (event) => { if (isNarrow()) tell(event); });
  table.addEventListener("keydown", moveByKey);
}

function openAnswer(column) {
  const answer = byId(`a-${column}`);
  if (!answer) return;
  if (answer.classList.contains("more")) byId("overview").classList.add("every");
  answer.open = true;
}

function unfold(row, open) {
  const button = document.querySelector(`#overview tr[data-r="${row.dataset.r}"]:not(.v) button`);
  button?.setAttribute("aria-expanded", String(open));
  for (const one of document.querySelectorAll(`#overview tr.v[data-r="${row.dataset.r}"]`)) one.classList.toggle("open", open);
}

function moveByKey(event) {
  const cell = event.target.closest("tbody tr[data-r] > *");
  if (!cell) return;
  const row = cell.parentElement;
  if (event.key === "+" || event.key === "-") { unfold(row, event.key === "+"); event.preventDefault(); return; }
  const rows = visibleRows();
  const [y, x] = [rows.indexOf(row), [...row.children].indexOf(cell)];
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
  const links = [...row.querySelectorAll("a")];
  let found = { Home: links[0], End: links.at(-1) }[event.key];
  for (let step = 1; !found && (down || right); step++) {
    const next = rows[y + step * down]?.children[x + step * right];
    if (!next) break;
    found = next.querySelector("a");
  }
  if (!found) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  found.tabIndex = 0;
  found.focus();
}

// The reading line: a cell in words or, on a narrow screen, its whole row.
function tellOf(data, state, cell) {
  const row = cell.parentElement;
  const place = [...row.children].indexOf(cell);
  const variants = variantsOf(data, row);
  const [name, , , cost] = data.rows[row.dataset.r];
  const tip = byId("tip");
  tip.classList.add("on");
  for (const one of document.querySelectorAll("#overview .lit")) one.classList.remove("lit");
  row.firstElementChild.classList.add("lit");
  if (place === 0 || isNarrow()) {
    tip.replaceChildren(el("strong", {}, `${name}. `), rowInWords(data, state, row));
    return;
  }
  if (place > data.columns.length) {
    tip.replaceChildren(el("strong", {}, `${name}: `), cost ? `${cost} times the processor time of a plain network, median over its questions.` : "no comparable times.");
    return;
  }
  document.querySelector("#overview .heads").children[place].classList.add("lit");
  const [column, , title] = data.columns[place - 1];
  const of = stateOf(data, column, keyOf(data, state, row));
  const shown = shownCell(of, variants);
  const who = shown ? data.methods[shown.method] : name;
  const words = !shown ? (cell.className === "o" ? "costs more than the limit." : "not run.")
    : shown.kind === "x" ? `fails: ${shown.why}.`
    : `${CELL_WORDS[shown.kind]}. Place ${shown.low === shown.high ? shown.low : `${shown.low} to ${shown.high}`} of ${of.count}.`;
  tip.replaceChildren(el("strong", {}, `${who}, ${title}: `), words,
    shown?.first ? " It has the largest mean." : "",
    cell.classList.contains("a") ? " Corner: a variant of it is in front; unfold the row." : "");
}

function rowInWords(data, state, row) {
  const key = keyOf(data, state, row);
  const cells = data.columns.map(([name, head]) => [shownCell(stateOf(data, name, key), variantsOf(data, row)), head]).filter(([cell]) => cell);
  const parts = [..."bfmkux"].map((kind) => {
    const of = cells.filter(([cell]) => cell.kind === kind).map(([cell, head]) => `${head.replace("†", "")} ${placesText(cell)}`);
    return of.length ? `${CELL_NAMES[kind][0].toUpperCase()}${CELL_NAMES[kind].slice(1)}: ${of.join(", ")}. ` : "";
  });
  return `${parts.join("")}Not run: ${data.columns.length - cells.length} of ${data.columns.length}.`;
}
