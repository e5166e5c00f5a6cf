// Search for methods, data sets, suites and papers by name.

function startSearch(entries) {
  const input = byId("search");
  const list = byId("hits");
  let chosen = -1;
  const hits = () => {
    const text = input.value.trim().toLowerCase();
    if (!text) return null;
    const shortest = (a, b) => a[1].length - b[1].length;
    const named = (part) => [
      ...entries.filter(([, name]) => name.toLowerCase().startsWith(part)).sort(shortest),
      ...entries.filter(([, name]) => name.toLowerCase().indexOf(part) > 0).sort(shortest),
    ];
    const whole = named(text);
    const words = text.split(/\s+/);
    // If several names are typed together, such as "pbp yacht", the first hits of each.
    const entriesOfWords = () => words.flatMap((word) => named(word).slice(0, 8 / words.length));
    return (whole.length ? whole : entriesOfWords()).slice(0, 8);
  };
  const show = () => {
    const found = hits();
    list.hidden = !found;
    input.setAttribute("aria-expanded", String(Boolean(found)));
    if (!found) return;
    const items = found.map(([kind, name, address], k) =>
      el("li", { role: "option", id: `hit-${k}`, "aria-selected": String(k === chosen) },
        el("a", { href: address, tabindex: "-1" }, name, " ", el("small", {}, kind))));
    list.replaceChildren(...(items.length ? items : [el("li", { role: "option", "aria-selected": "false" }, `Nothing is called “${input.value.trim()}”.`)]));
    if (chosen >= 0 && items[chosen]) input.setAttribute("aria-activedescendant", `hit-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  };
  input.addEventListener("input", () => { chosen = -1; show(); });
  input.addEventListener("keydown", (event) => {
    const found = hits() ?? [];
    if (event.key === "Escape") { input.value = ""; chosen = -1; show(); }
    else if (event.key === "ArrowDown" && found.length) { chosen = (chosen + 1) % found.length; show(); event.preventDefault(); }
    else if (event.key === "ArrowUp" && found.length) { chosen = (chosen + found.length - 1) % found.length; show(); event.preventDefault(); }
    else if (event.key === "Enter" && found.length) location.href = found[Math.max(chosen, 0)][2];
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    input.focus();
  });
}
