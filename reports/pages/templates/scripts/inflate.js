// Large data of a page are stored as compressed JSON in base64.
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function whyUnread() {
  return "DecompressionStream" in globalThis
    ? "This page is damaged: its data cannot be read. Build the site again."
    : "This browser cannot unpack the data of this page. Browsers since 2023 can.";
}

function refuse() {
  document.querySelector("main").prepend(el("p", { class: "banner caution", role: "alert" }, whyUnread()));
}
