// Families of methods can be hidden; hidden rows still count in the comparisons.
for (const place of document.querySelectorAll(".filter-place")) {
  const rows = [...document.querySelectorAll("tr[data-family]")];
  const members = new Map();
  for (const row of rows) {
    const family = row.dataset.family;
    if (!members.has(family)) members.set(family, new Set());
    members.get(family).add(row.dataset.label);
  }
  const order = (place.dataset.order ?? "").split("|").filter((name) => members.has(name));
  if (order.length < 2) continue;
  const status = el("p", { class: "note", role: "status" });
  const boxes = order.map((family) => {
    const box = el("input", { type: "checkbox", checked: true, value: family });
    box.addEventListener("change", apply);
    return box;
  });
  function apply() {
    const shown = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const row of rows) row.hidden = !shown.has(row.dataset.family);
    const count = [...shown].reduce((sum, family) => sum + members.get(family).size, 0);
    const all = order.reduce((sum, family) => sum + members.get(family).size, 0);
    status.textContent = count === all ? ""
      : `${count} of ${all} methods are shown. Marks still compare all of them.`;
  }
  const choice = (box) => el("label", {}, box, ` ${box.value} (${members.get(box.value).size})`);
  const every = el("button", { type: "button", class: "tool" }, "all");
  every.addEventListener("click", () => { for (const box of boxes) box.checked = true; apply(); });
  place.append(
    el("fieldset", { class: "filter" }, el("legend", {}, "Families of methods"),
      ...boxes.map(choice), every), status);
}
