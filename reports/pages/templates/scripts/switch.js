// Drop-down lists choose among tables that differ in metric, condition or data set.
const AXES = { set: "Data set", condition: "Condition", metric: "Metric", rows: "Test rows" };
for (const group of document.querySelectorAll(".switch")) {
  const choices = [...group.children].filter((child) => child.matches(".choice"));
  const lists = {};
  const values = (axis) => [...new Set(choices.map((one) => one.dataset[axis] ?? ""))];
  const axes = Object.keys(AXES).filter((axis) => values(axis).length > 1);
  if (choices.length < 2 || axes.length === 0) continue;
  const show = (changed) => {
    const fits = (axis) => (one) => (one.dataset[axis] ?? "") === lists[axis].value;
    const exact = choices.find((one) => axes.every((axis) => fits(axis)(one)));
    const chosen = exact ?? choices.find(fits(changed)) ?? choices[0];
    for (const one of choices) one.hidden = one !== chosen;
    for (const axis of axes) lists[axis].value = chosen.dataset[axis] ?? "";
  };
  const bar = el("div", { class: "chooser" });
  for (const axis of axes) {
    lists[axis] = el("select", {}, ...values(axis).map((name) =>
      el("option", { value: name }, name || "–")));
    lists[axis].addEventListener("change", () => show(axis));
    bar.append(el("label", {}, `${AXES[axis]} `, lists[axis]));
  }
  group.prepend(bar);
  show(axes[0]);
}
