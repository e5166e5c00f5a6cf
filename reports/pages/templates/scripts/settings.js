// The settings in which two methods differ.

function settingsBeside(first, second, task, settings) {
  const columns = task.columns.filter((column) => settings.of[task.id]?.[column.id]);
  if (!columns.length) return [];
  const [ours, theirs] = [first, second].map((method) => settingsOf(method, task, columns, settings));
  const names = [...new Set([...(ours ?? new Map()).keys(), ...(theirs ?? new Map()).keys()])];
  const differing = names.filter((name) => ours?.get(name) !== theirs?.get(name));
  const cell = (of, name) => el("td", {}, of ? of.get(name) ?? "–" : "");
  const lost = [[first, ours], [second, theirs]].filter(([, of]) => !of).map(([method]) => method);
  const same = names.length - differing.length;
  const notes = [`${capital(titleOf(task))}.`];
  if (lost.length) notes.push(`The settings of ${lost.join(" and ")} are not stored in this bundle.`);
  if (!lost.length && !differing.length) notes.push("All of them are equal.");
  else if (same) notes.push(`${same} ${same === 1 ? "setting is" : "settings are"} equal and not shown.`);
  const rows = lost.length === 2 ? [] : differing.map((name) =>
    el("tr", {}, el("th", { scope: "row" }, name), cell(ours, name), cell(theirs, name)));
  return [
    el("h2", {}, "Settings that differ"),
    el("p", { class: "note" }, notes.join(" ")),
    ...(rows.length ? [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings" },
      el("table", { class: "beside" }, el("thead", {}, el("tr", {}, el("th", {}, "Setting"), el("th", {}, first), el("th", {}, second))),
        el("tbody", {}, rows)))] : []),
  ];
}

// Setting → value; one that depends on the data set has all its values. Null if none is stored.
function settingsOf(method, task, columns, settings) {
  const byColumn = columns.map((column) => {
    const place = entriesOf(settings.of[task.id][column.id]).get(method);
    return [column.title, place === undefined ? null : settings.listed[place]];
  }).filter(([, flat]) => flat);
  if (!byColumn.length) return null;
  const found = new Map();
  for (const name of new Set(byColumn.flatMap(([, flat]) => Object.keys(flat)))) {
    const titles = new Map();
    for (const [title, flat] of byColumn) {
      const value = entriesOf(flat).get(name) ?? "–";
      titles.set(value, [...(titles.get(value) ?? []), title]);
    }
    const values = [...titles].map(([value, of]) => (titles.size > 1 ? `${value} (${of.join(", ")})` : value));
    found.set(name, values.join("; "));
  }
  return found;
}
