// Methods that share figures: pointing at one, in a figure or in the list, highlights it and greys
// the others. A click keeps up to four highlighted; Escape resets all.
const KEPT = 4;

// The entries of a list, or names of rows, are one stop of the Tab key; arrows move among them.
function entriesOf(scope) {
  const legend = scope.querySelector(".legend");
  if (legend) {
    legend.setAttribute("role", "toolbar");
    legend.setAttribute("aria-label", "Methods to highlight in the figures");
    return [...legend.children].map((item) => {
      item.setAttribute("role", "none");
      item.append(el("button", { type: "button", class: "entry" }, ...item.childNodes));
      return item.firstChild;
    });
  }
  const rows = [...scope.querySelectorAll("svg .row[data-method]")];
  for (const row of rows) {
    row.closest("svg").setAttribute("role", "group");
    row.setAttribute("role", "button");
  }
  return rows;
}

function liftable(scope) {
  const marked = [...scope.querySelectorAll("[data-method]")];
  const drawings = [...new Set(marked.map((one) => one.closest("figure svg")))].filter(Boolean);
  if (drawings.length === 0) return;
  const entries = entriesOf(scope);
  const raise = raiser(marked.filter((one) => one.matches("svg .curve, svg .band")));
  const kept = new Set();
  let [pointed, focused, names] = [null, null, []];
  const methodOf = (entry) => entry.closest("[data-method]").dataset.method;

  function show() {
    const lifted = new Set(kept);
    const now = pointed ?? focused;
    if (now !== null) lifted.add(now);
    scope.classList.toggle("lifting", lifted.size > 0);
    for (const one of marked) one.classList.toggle("lifted", lifted.has(one.dataset.method));
    for (const entry of entries) entry.setAttribute("aria-pressed", kept.has(methodOf(entry)));
    raise(lifted);
    for (const name of names) name.remove();
    names = drawings.flatMap((svg) => [...lifted].map((method) => nameIn(svg, method))).filter(Boolean);
  }
  function point(method) {
    if (method === pointed) return;
    pointed = method;
    show();
  }
  function toggle(method) {
    if (method === null) return;
    if (!kept.delete(method)) {
      if (kept.size === KEPT) kept.delete(kept.values().next().value);
      kept.add(method);
    }
    show();
  }

  for (const svg of drawings) {
    svg.addEventListener("pointermove", (event) => point(methodAt(svg, event)));
    svg.addEventListener("pointerleave", () => point(null));
    svg.addEventListener("click", (event) => toggle(methodAt(svg, event)));
  }
  for (const [k, entry] of entries.entries()) {
    entry.setAttribute("tabindex", k ? -1 : 0);
    entry.setAttribute("aria-pressed", "false");
    if (!entry.matches("svg *")) {
      entry.addEventListener("pointerenter", () => point(methodOf(entry)));
      entry.addEventListener("pointerleave", () => point(null));
      entry.addEventListener("click", () => toggle(methodOf(entry)));
    }
    entry.addEventListener("focus", () => {
      for (const one of entries) one.setAttribute("tabindex", one === entry ? 0 : -1);
      focused = entry.matches(":focus-visible") ? methodOf(entry) : null;
      show();
    });
    entry.addEventListener("blur", () => { focused = null; show(); });
    entry.addEventListener("keydown", (event) => {
      const to = { ArrowRight: k + 1, ArrowDown: k + 1, ArrowLeft: k - 1, ArrowUp: k - 1,
        Home: 0, End: entries.length - 1 }[event.key];
      if (to !== undefined) entries[(to + entries.length) % entries.length].focus();
      else if (entry.matches("svg *") && [" ", "Enter"].includes(event.key)) toggle(methodOf(entry));
      else return;
      event.preventDefault();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !scope.classList.contains("lifting")) return;
    kept.clear();
    [pointed, focused] = [null, null];
    show();
  });
  const hint = "Point at a method to highlight it, click to keep it, press Escape to reset.";
  const legend = scope.querySelector(".legend");
  const note = scope.querySelector(".hint");
  if (note) note.append(` ${hint}`);
  else legend?.after(el("p", { class: "note hint" }, hint));
}

for (const scope of document.querySelectorAll(".methods")) liftable(scope);
