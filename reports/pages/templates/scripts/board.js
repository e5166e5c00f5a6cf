// The board: a question with blanks, and its answer. Each kind of question has its own page.

const BUDGETS = [
  ["", "any time"], ["30", "30 times the plain network's time"],
  ["10", "10 times the plain network's time"], ["3", "3 times the plain network's time"],
  ["1", "the plain network's time"],
];
const SETTINGS = { searched: "searched with one budget", "as declared": "as declared" };

function startBoard(data) {
  let shown = "";
  const draw = () => {
    const state = readState();
    const [kind, address] = data.kinds.find(([name]) => slugOf(name) === state.task) ?? [];
    if (kind && kind !== data.tasks[0].kind) {
      location.replace(`${ROOT}${address}${location.hash}`);
      return;
    }
    const view = viewOf(data, state);
    const signature = JSON.stringify({ ...state, open: "", run: "" });
    if (signature !== shown) {
      shown = signature;
      drawBoard(view);
    }
    openRuns(view.ranking, state.open, state.run);
  };
  window.addEventListener("statechange", draw);
  window.addEventListener("hashchange", draw);
  window.addEventListener("popstate", draw);
  const dialog = byId("runs");
  dialog.addEventListener("close", () => {
    const { open } = readState();
    if (!open) return;
    writeState({ open: "", run: "" });
    document.querySelector(`[data-open="${CSS.escape(open)}"]`)?.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  startHover(byId("board"));
  draw();
  // A reader who chose the kind of question by keyboard on another page continues there.
  if (readState().task) document.querySelector("select[data-name=task]")?.focus({ preventScroll: true });
}

// The task and ranking of a state; missing or invalid parts of a state take their defaults.
function viewOf({ tasks, kinds, leagues }, state) {
  const sets = [...new Set(tasks.map((task) => task.data))];
  const rows = sets.find((one) => slugOf(one) === state.rows) ?? sets[0];
  const ofRows = tasks.filter((task) => task.data === rows);
  const task = ofRows.find((one) => slugOf(one.settings) === state.settings) ?? usual(ofRows);
  const scale = task.scales.find((one) => one.name === state.by) ?? task.scales[0];
  const budget = BUDGETS.some(([value]) => value === state.budget) ? state.budget : "";
  const known = state.off.filter((slug) => task.columns.some((c) => c.slug === slug));
  const off = known.length < task.columns.length ? known : [];
  const ids = task.columns.filter((c) => off.includes(c.slug)).map((c) => c.id);
  const nets = state.nets !== "0";
  const ranking = ranked(task, scale.name, ids, Number(budget) || 0, nets);
  return { kinds, leagues, sets, rows, ofRows, task, scale, budget, off, nets, ranking };
}

// Of several settings, those with the most data sets; in a tie, searched ones, which come first.
const usual = (tasks) =>
  tasks.reduce((best, task) => (task.columns.length > best.columns.length ? task : best));

function drawBoard(view) {
  const { task, ranking } = view;
  const onThese = adviceOn(ranking);
  const league = leagueOf(view);
  const found = league ?? onThese;
  byId("question").replaceChildren(...question(view));
  byId("headline").textContent = found.headline;
  byId("sentences").textContent = found.text;
  byId("notes").textContent = notesOn(view);
  byId("league").replaceChildren(...(league ? leagueTables(view, league, onThese) : []));
  byId("counted").replaceChildren("Counted:", ...task.columns.map((column) => toggle(column, view)), ...networksSwitch(view));
  byId("ranking").replaceChildren(rankingTable(ranking), rankingNote(ranking));
  byId("chart").replaceChildren(costChart(ranking));
  byId("heat-note").replaceChildren(...heatNote(ranking));
  byId("heat").replaceChildren(heatMap(ranking));
  byId("missing").textContent = missingText(ranking);
  for (const one of document.querySelectorAll("#failures [data-task]")) one.hidden = one.dataset.task !== task.id;
  markPins();
}

function question(view) {
  const select = (words, name, options, value) =>
    el("label", {}, `${words} `,
      el("select", { "data-name": name, onchange: (event) => choose(name, event.target.value) },
        options.map(([own, text]) => el("option", { value: own, selected: own === value }, text))));
  const slugs = (names) => names.map((name) => [slugOf(name), name]);
  return [
    select("For", "task", slugs(view.kinds.map(([name]) => name)), slugOf(view.task.kind)), " ",
    select("from", "rows", slugs(view.sets), slugOf(view.rows)), ", ",
    select("settings", "settings", view.ofRows.map((t) => [slugOf(t.settings), SETTINGS[t.settings]]), slugOf(view.task.settings)), ", ",
    select("in", "budget", BUDGETS, view.budget), ", ",
    select("judged by", "by", view.task.scales.map((s) => [s.name, s.name]), view.scale.name),
  ];
}

// A choice is dropped when it becomes meaningless.
function choose(name, value) {
  const forgotten = { task: { rows: "", settings: "", by: "" }, rows: { settings: "" } }[name] ?? {};
  const sets = ["task", "rows", "settings"].includes(name) ? { off: [], open: "", run: "" } : {};
  writeState({ ...forgotten, ...sets, [name]: value });
  document.querySelector(`select[data-name="${name}"]`)?.focus();
}

function toggle(column, view) {
  const slug = column.slug;
  const on = !view.off.includes(slug);
  const last = on && view.off.length === view.task.columns.length - 1;
  return el("button", {
    "aria-pressed": String(on), "aria-disabled": last ? "true" : null,
    title: last ? "At least one data set must be selected." : null,
    onclick: () => {
      if (!last) writeState({ off: on ? [...view.off, slug] : view.off.filter((one) => one !== slug) });
    },
  }, column.title);
}

// Methods that are no networks are in the table only if asked for.
function networksSwitch({ task, nets }) {
  if (networksOf(task).length === task.methods.length) return [];
  return [el("button", {
    id: "networks", "aria-pressed": String(nets), onclick: () => writeState({ nets: nets ? "0" : "", open: "", run: "" }),
  }, "Networks only")];
}

function rankingNote(ranking) {
  const { found, scale, compared, columns } = ranking;
  if (compared.length < 2 || found.untested) return el("p", { class: "note" });
  const runs = runsOf(found, columns[0].byFold ? "split" : "seed");
  const level = `${100 * found.level} %`;
  const equal = scale.margin ? ` Practically equal: within ${marginOf(scale)} of every method that may be best.` : "";
  return el("p", { class: "note" },
    `Mean margins over the selected data, ${runs} in pairs; the claims are about new ${columns[0].byFold ? "splits" : "seeds"} of these data sets. `,
    `Worse: some other method is shown to be better; at most ${level} of such tables call a best method worse.${equal} `,
    el("span", { class: "with-bars" }, "Lines: how far behind the best, by the test that decides the state. A line that does not reach 0 is that of a method which is worse, though perhaps by a practically equal amount."),
    ...(ranking.task.ofProcessors ? [` Fit: processor seconds${ranking.task.settings === "searched" ? ", the search for settings included" : ""}.`] : []));
}

function heatNote(ranking) {
  const { scale } = ranking;
  const way = scale.up ? "higher is better" : "lower is better";
  const unit = scale.scale === 100 && !scale.ratio ? ", in points" : scale.ratio ? ", in the target's unit" : ", nats";
  const byRatio = scale.ratio && ranking.columns.some((column) => column.seeds > 1);
  const swatches = el("span", { class: "swatches" }, [0, 1, 2, 3, 4].map((k) => el("i", { class: `h${k}` })));
  return [
    `${capital(scale.title)}${unit}; ${way}. Mean ± half of a 95 % interval${byRatio ? "; seeds of a split are averaged by their ratios (geometric mean)" : ""}. `, swatches,
    " faint: near the best of its column, strong: far behind; outlined: best mean. Click a cell to open its runs.",
  ];
}

function missingText(ranking) {
  const parts = [...ranking.missing].map(([method, titles]) =>
    `${method} (not on ${titles.length === ranking.columns.length && titles.length > 1 ? "any of them" : joined(titles)})`);
  return parts.length ? `Not ranked because of a missing data set: ${parts.join(", ")}.` : "";
}

// A row, a mark and a line of the heat map are highlighted together.
function startHover(board) {
  const light = (method) => {
    for (const node of board.querySelectorAll("[data-method]"))
      node.classList.toggle("lit", node.dataset.method === method);
    board.querySelector(".chart")?.classList.toggle("hovering", Boolean(method));
  };
  for (const name of ["pointerover", "focusin"])
    board.addEventListener(name, (event) => light(event.target.closest?.("[data-method]")?.dataset.method));
  board.addEventListener("pointerleave", () => light());
}

function markPins() {
  const pins = readState().pin;
  for (const row of document.querySelectorAll(".ranking [data-method]"))
    row.classList.toggle("pinned", pins.includes(slugOfMethod(row.dataset.method)));
}
