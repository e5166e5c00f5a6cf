// Paired differences of two methods on every data set and criterion that both have.

function startCompare(data) {
  const draw = () => drawCompare(data.tasks, data.settings);
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, draw);
  draw();
}

// Scores are steps of a power of ten above the least of a column, less one; 0 is no score. Their
// bytes are in four planes. Methods are numbers.
function unpackScores(tasks, bytes) {
  const count = bytes.length / 4;
  let place = 0;
  const code = () => [3, 2, 1, 0].reduce((sum, plane) => 256 * sum + bytes[plane * count + place], 0);
  const score = (digits, least) => {
    const steps = code();
    place += 1;
    return steps ? (least + steps - 1) / 10 ** digits : null;
  };
  for (const task of tasks)
    for (const byColumn of Object.values(task.scores))
      for (const [column, [digits, least, methods]] of Object.entries(byColumn))
        byColumn[column] = Object.fromEntries(methods.map((k) =>
          [task.methods[k], task.runs[column].map(() => score(digits, least))]));
}

function drawCompare(tasks, settings) {
  const methods = [...new Set(tasks.flatMap((task) => task.methods.filter((m) => !task.constants.includes(m))))];
  const state = readState();
  const named = (slug) => methods.find((method) => slugOfMethod(method) === slug);
  const first = named(state.a) ?? "AdamW";
  const second = named(state.b) ?? methods.find((method) => method !== first && shared(tasks, first, method));
  const lines = first === second ? [] : comparedLines(tasks, first, second);
  const both = [...new Set(lines.map((line) => line.task))];
  const task = both.find((one) => one.id === state.task);
  const ofTask = lines.filter((line) => !task || line.task === task);
  const titles = new Map(ofTask.map((line) => [line.scale.name, line.scale.title]));
  const by = titles.has(state.by) ? state.by : "";
  const chosen = ofTask.filter((line) => !by || line.scale.name === by);
  const slugged = methods.map((m) => [slugOfMethod(m), m]);
  const scores = [...titles.keys()].map((name) => [name, name]);
  byId("question").replaceChildren(
    choice("a", slugOfMethod(first), "Is", slugged), " ",
    choice("b", slugOfMethod(second), "better or worse than", slugged), " ",
    choice("task", task?.id ?? "", "for", [["", "every question"], ...both.map((one) => [one.id, titleOf(one)])]), " ",
    choice("by", by, "by", [["", "every score"], ...scores]), "?");
  byId("headline").textContent = comparedHeadline(first, second, chosen);
  const shown = chosen.filter((line) => line.task === chosen[0].task && line.scale === chosen[0].scale);
  byId("replicates").replaceChildren(...(shown.length ? replicatePlots(first, second, shown) : []));
  byId("differences").replaceChildren(...(chosen.length ? [comparedTable(first, second, chosen)] : []));
  byId("settings").replaceChildren(...(shown.length ? settingsBeside(first, second, shown[0].task, settings) : []));
}

const titleOf = (task) => `${task.kind}: ${task.data}, settings ${task.settings}`;

function choice(name, value, words, options) {
  return el("label", {}, `${words} `,
    el("select", { "data-name": name, onchange: (event) => writeState({ [name]: event.target.value }) },
      options.map(([own, title]) => el("option", { value: own, selected: own === value }, title))));
}

const shared = (tasks, first, second) =>
  tasks.some((task) => task.methods.includes(first) && task.methods.includes(second));

// A positive difference means that the second method is behind the first.
function comparedLines(tasks, first, second) {
  const [lines, seen] = [[], new Set()];
  for (const task of tasks)
    for (const scale of task.scales)
      for (const column of task.columns) {
        const [fits] = fitsOf(task, scale, [column], [first, second]);
        const [ours, theirs] = [fits.samples.get(first), fits.samples.get(second)];
        const place = [column.suite, column.profile, column.id, scale.name].join("/");
        if (!ours || !theirs || seen.has(place)) continue;
        seen.add(place); // two questions may share the runs of a data set
        const common = inOrder([...ours.keys()].filter((run) => theirs.has(run)));
        const gaps = new Map(common.map((run) => [run, theirs.get(run) - ours.get(run)]));
        const values = replicatesOf(gaps, common, column.byFold);
        if (values.length < 1 || !values.every(Number.isFinite)) continue;
        const half = halfWidth(values, column.byFold ? column.overlap : 0);
        const gap = mean(values);
        const tested = half !== null && values.length >= FEWEST;
        let state = "too few runs";
        if (values.every((value) => value === 0)) state = "identical";
        else if (tested) state = gap - half > 0 ? "ahead" : gap + half < 0 ? "behind" : "undecided";
        lines.push({ task, scale, column, gap, half, state, runs: values.length });
      }
  return lines;
}

function comparedHeadline(first, second, lines) {
  if (first === second) return "Choose two methods.";
  if (!lines.length) return `${first} and ${second} were never run on the same data.`;
  const count = (state) => lines.filter((line) => line.state === state).length;
  const open = lines.length - count("ahead") - count("behind");
  return `${first} is ahead of ${second} in ${count("ahead")} of ${lines.length} comparisons and behind in ` +
    `${count("behind")}; ${open} ${open === 1 ? "is" : "are"} undecided.`;
}

// The examples on which the two differ, if predictions for a data set are available.
function toExamples(column, first, second) {
  if (!column.page) return [];
  const pair = new URLSearchParams({ a: slugOfMethod(first), b: slugOfMethod(second) });
  return [" ", el("a", { href: `${ROOT}${column.page}#${pair}`, "aria-label": `Examples of ${column.title}` }, "examples")];
}

function comparedTable(first, second, lines) {
  const heads = ["Data", "Score", `${first} ahead by`, "State", "Runs", "Times the fit"];
  const row = ({ task, scale, column, gap, half, state, runs }) => {
    const places = scale.scale === 1 ? 3 : 2;
    const error = half === null ? "" : ` ± ${fixed(half, places)}`;
    const seconds = entriesOf(task.seconds[column.id]);
    const ratio = seconds.get(first) / seconds.get(second);
    return el("tr", { class: state },
      el("td", {}, column.title, ...toExamples(column, first, second)),
      el("td", {}, scale.title), el("td", { class: "number" }, `${fixed(gap, places)}${error} `, el("small", {}, scale.unit)),
      el("td", {}, state), el("td", { class: "number" }, String(runs)),
      el("td", { class: "number" }, Number.isFinite(ratio) ? digits(ratio, 2) : ""));
  };
  const groups = [...new Set(lines.map((line) => line.task))].map((task) => el("tbody", {},
    el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: heads.length }, el("span", {}, capital(titleOf(task))))),
    lines.filter((line) => line.task === task).map(row)));
  const numbers = [2, 4, 5];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences" },
    el("table", { class: "narrowing" }, el("thead", {}, el("tr", {}, heads.map((text, k) =>
      el("th", { class: numbers.includes(k) ? "number" : null }, text)))), groups));
}
