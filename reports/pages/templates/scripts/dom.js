// A page is complete without scripts; this class enables what they add.
document.documentElement.classList.add("js");

// Elements, made only from text: no markup is read from data.

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  fill(node, attributes, children);
  return node;
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(node, attributes, children);
  return node;
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== ""));
}

const byId = (id) => document.getElementById(id);
const slugOf = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

// The outline of a family's mark around (x, y), about 2 r wide.
function shape(family, x, y, r, attributes = {}) {
  const placed = `translate(${x} ${y}) scale(${r / 4.6})`;
  return svg("path", { d: outlines.get(family) ?? outlines.get("other"), transform: placed, ...attributes });
}

function mark(family) {
  const drawn = svg("svg", { class: `mark ${slugOf(family)}`, viewBox: "-6 -6 12 12", "aria-hidden": "true" });
  drawn.append(shape(family, 0, 0, 4.6));
  return drawn;
}

// Numbers formatted for readers, with a true minus sign.
const typographic = (text) => text.replace("-", "−");

function fixed(value, places) {
  const text = value.toFixed(places);
  return typographic(Number(text) === 0 ? text.replace("-", "") : text);
}

function placesFor(errors) {
  const known = errors.filter((e) => Number.isFinite(e) && e > 0).sort((a, b) => a - b);
  if (!known.length) return 3;
  const needed = Math.ceil(-Math.log10(known[(known.length - 1) >> 1])) + 1;
  return Math.min(Math.max(needed, 0), 6);
}

// Family → the outline of its mark, with a radius of 4.6.
let outlines = new Map();

// Method → the name of its page, also used in addresses.
let methodPages = new Map();
const slugOfMethod = (method) => methodPages.get(method) ?? slugOf(method);
const methodPage = (method) => `${ROOT}methods/${slugOfMethod(method)}.html`;
const ROOT = document.documentElement.dataset.root;
