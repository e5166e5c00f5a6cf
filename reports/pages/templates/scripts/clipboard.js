// Copies a text, or offers it to be copied by hand where the browser allows no other way.
const say = (button, text) => {
  button.nextElementSibling?.matches(".said") && button.nextElementSibling.remove();
  const said = el("span", { class: "said", role: "status" }, text);
  button.after(said);
  setTimeout(() => said.remove(), 4000);
};
const offer = (text) => {
  const area = el("textarea", { rows: "12", readonly: true, "aria-label": "Text to copy" });
  area.value = text;
  const close = el("button", { type: "button", class: "tool" }, "Close");
  const box = el("dialog", { class: "offer", "aria-label": "Copy by hand" },
    el("p", {}, "This browser does not allow the page to copy. The text is selected: copy it by hand."),
    area, close);
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  area.select();
};
const copied = async (text, button) => {
  try {
    await navigator.clipboard.writeText(text);
    say(button, "copied");
  } catch {
    offer(text);
  }
};
