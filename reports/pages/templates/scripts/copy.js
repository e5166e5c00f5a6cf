// Copies a table as shown, sorted and filtered, for a paper, a page or a spreadsheet.
const plain = (element) => {
  const copy = element.cloneNode(true);
  for (const extra of copy.querySelectorAll(".hidden, .way, .mark, .letter, .bracket, .dagger, .se")) extra.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
};
const unitOf = (cell) => cell.querySelector(".unit")?.textContent.trim() ?? "";
const withUnit = (name, unit) => (unit ? `${name} (${unit})` : name);
const headed = (cell) => {
  const [name, unit] = [plain(cell), unitOf(cell)];
  return withUnit(unit ? name.slice(0, name.lastIndexOf(unit)).trim() : name, unit);
};
const STATES = ["best", "leads", "equal", "worse", "undecided", "not-eligible"];
const read = (table) => {
  const heads = [...table.tHead.rows[0].cells].map(headed);
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) =>
    [...row.cells].map((cell) => ({
      text: plain(cell),
      error: cell.querySelector(".se")?.textContent.replace("±", "").trim() ?? "",
      state: STATES.find((state) => cell.classList.contains(state)) ?? "",
      letter: cell.querySelector(".letter")?.textContent ?? "",
      dagger: cell.querySelector(".dagger") ? "†" : "",
    })));
  return { heads, rows, caption: table.caption.textContent };
};
const MARKDOWN = (text) => text.replace(/[\\`*_[\]|#~]/g, "\\$&")
  .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const TEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "±": "$\\pm$", "†": "$\\dagger$", "<": "\\textless{}", ">": "\\textgreater{}",
  "|": "\\textbar{}", '"': "''", "−": "$-$", "∞": "$\\infty$" };
const LATEX = (text) => [...text].map((c) => TEX[c] ?? ("{}$&#_%".includes(c) ? `\\${c}` : c)).join("");
const isNumber = (text) => text === "-inf" || !isNaN(text);
const SAFE = (text) => (/^[=+@-]/.test(text) && !isNumber(text) ? `'${text}` : text); // no formula
const QUOTED = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const number = (text) => text.replaceAll("−", "-").replaceAll("∞", "inf");
const FORMATS = {
  Markdown({ heads, rows }) {
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const marked = {
      "": (value) => value,
      best: (value) => `**${value}** ●`,
      leads: (value) => `**${value}** ?`,
      equal: (value) => `${value} =`,
      worse: (value) => `${value} ↓`,
      undecided: (value) => `${value} ?`,
      "not-eligible": (value, letter) => `(${value}) ${letter}`,
    };
    const cell = ({ text, error, state, letter, dagger }) =>
      marked[state](MARKDOWN(text) + (error && ` ± ${error}`) + dagger, letter);
    const rule = heads.map((_, i) => (i ? "---:" : "---"));
    return [line(heads.map(MARKDOWN)), line(rule), ...rows.map((row) => line(row.map(cell)))];
  },
  LaTeX({ heads, rows, caption }) {
    const line = (cells) => `${cells.join(" & ")} \\\\`;
    const marked = {
      "": (value) => value,
      best: (value) => `\\textbf{${value}}\\,$\\bullet$`,
      leads: (value) => `\\textbf{${value}}\\,?`,
      equal: (value) => `${value}\\,$=$`,
      worse: (value) => `${value}\\,$\\downarrow$`,
      undecided: (value) => `${value}\\,?`,
      "not-eligible": (value, letter) => `(${value})$^{${letter}}$`,
    };
    const cell = ({ text, error, state, letter, dagger }) =>
      marked[state](LATEX(text) + (error && ` $\\pm$ ${error}`) + LATEX(dagger), letter);
    return [`% ${caption.replace(/\s+/g, " ")}. Needs \\usepackage{booktabs}.`,
      `\\begin{tabular}{l${"r".repeat(heads.length - 1)}}`, "\\toprule", line(heads.map(LATEX)),
      "\\midrule", ...rows.map((row) => line(row.map(cell))), "\\bottomrule", "\\end{tabular}"];
  },
  CSV({ heads, rows }) {
    const errors = heads.map((_, i) => rows.some((row) => row[i].error));
    const judged = heads.map((_, i) => rows.some((row) => row[i].state));
    const wide = (cells, error, state) => cells.flatMap((cell, i) =>
      [cell, ...(errors[i] ? [error(cell)] : []), ...(judged[i] ? [state(cell)] : [])]);
    const head = wide(heads, (name) => `${name} half of 95 % interval`, (name) => `${name} state`);
    const body = rows.map((row) => wide(row, (cell) => ({ text: cell.error }),
      (cell) => ({ text: cell.state.replace("-", " ") })));
    return [head.map(SAFE).map(QUOTED).join(","),
      ...body.map((row) => row.map((cell, i) => QUOTED(SAFE(i ? number(cell.text) : cell.text))).join(","))];
  },
};
for (const table of document.querySelectorAll("table.results")) {
  const bar = el("p", { class: "tools" }, "Copy as ");
  for (const [name, format] of Object.entries(FORMATS)) {
    const label = `Copy “${table.caption.textContent.trim()}” as ${name}`;
    const button = el("button", { type: "button", class: "tool", "aria-label": label }, name);
    button.addEventListener("click", () => copied(`${format(read(table)).join("\n")}\n`, button));
    bar.append(button, " ");
  }
  table.closest(".scroll").after(bar);
}
