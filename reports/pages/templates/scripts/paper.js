// The explanation of a printed number, in a dialog.

function startPaper(data) {
  const dialog = byId("number");
  const show = () => {
    const { open } = readState();
    const found = open === undefined ? undefined : data.numbers[Number(open)];
    if (!found) {
      if (dialog.open) dialog.close();
      return;
    }
    const [heading, method, page, ...sentences] =
      found.map((text) => (typeof text === "number" ? data.shared[text] : text));
    dialog.replaceChildren(
      el("button", { class: "tool close", onclick: () => dialog.close() }, "Close"),
      el("h2", { id: "number-title" }, heading),
      ...sentences.map((text) => el("p", {}, text)),
      el("p", {}, el("a", { href: `${ROOT}${page}#method=${slugOfMethod(method)}` }, `Runs of ${method}`)));
    if (!dialog.open) dialog.showModal();
  };
  for (const name of ["statechange", "hashchange", "popstate"]) window.addEventListener(name, show);
  for (const button of document.querySelectorAll("[data-open]"))
    button.addEventListener("click", () => writeState({ open: button.dataset.open }));
  dialog.addEventListener("close", () => {
    const { open } = readState();
    if (open === undefined) return;
    writeState({ open: "" });
    document.querySelector(`[data-open="${CSS.escape(open)}"]`)?.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  show();
}
