// A command with a button that copies it.
function commandLine(command) {
  const copy = el("button", {
    class: "button",
    onclick: async () => {
      await navigator.clipboard?.writeText(command);
      copy.textContent = "Copied";
    },
  }, "Copy");
  return el("div", { class: "command" }, el("pre", { tabindex: "0" }, command), copy);
}
