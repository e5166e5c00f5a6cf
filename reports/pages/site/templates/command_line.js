// A command with a button that copies it, and the command that repeats a run.

function repeating(repeatable, key) {
  if (repeatable) return commandLine(`bnnbench repeat ${key}`);
  return el("p", { class: "note" }, "This run was stored without the data needed to repeat it: it can be viewed, but not reproduced.");
}

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
