// Large data of a page are stored as compressed JSON, or bytes, in base64.
const inflated = async (text) => unpackedStream(text).json();

const inflatedBytes = async (text) => new Uint8Array(await unpackedStream(text).arrayBuffer());

function unpackedStream(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

function whyUnread() {
  return "DecompressionStream" in globalThis
    ? "This page is damaged: its data cannot be read. Build the site again."
    : "This browser cannot unpack the data of this page. Browsers since 2023 can.";
}

function refuse() {
  document.querySelector("main").prepend(el("p", { class: "banner caution", role: "alert" }, whyUnread()));
}
