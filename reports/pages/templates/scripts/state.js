// The reader's choices are stored in the address, so that every view is a link.

const LISTS = ["off", "pin"];
const REPLACED = ["off", "pin", "open", "run"];

function readState() {
  const words = new URLSearchParams(location.hash.slice(1));
  const state = Object.fromEntries(words);
  for (const name of LISTS) state[name] = (words.get(name) ?? "").split(",").filter(Boolean);
  return state;
}

function writeState(changes) {
  const state = { ...readState(), ...changes };
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const text = LISTS.includes(name) ? value.join(",") : value;
    if (text) words.set(name, text);
  }
  const address = `#${words}`;
  if (Object.keys(changes).every((name) => REPLACED.includes(name)))
    history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  window.dispatchEvent(new Event("statechange"));
}
