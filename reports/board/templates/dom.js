// Elements, made from text alone: no markup is read from data.

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
const OUTLINES = {
  "point estimates": (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`,
  ensembles: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  Laplace: (r) => `M0 ${-r}L${r * 1.05} ${r * 0.85}H${-r * 1.05}Z`,
  "function space": (r) => `M0 ${r}L${r * 1.05} ${-r * 0.85}H${-r * 1.05}Z`,
  variational: (r) => `M0 ${-r * 1.2}L${r * 1.2} 0L0 ${r * 1.2}L${-r * 1.2} 0Z`,
  trajectories: (r) => `M${r} 0L${-r * 0.85} ${r * 1.05}V${-r * 1.05}Z`,
  "message passing": (r) => {
    const a = r * 0.38;
    return `M${-a} ${-r}H${a}V${-a}H${r}V${a}H${a}V${r}H${-a}V${a}H${-r}V${-a}H${-a}Z`;
  },
  sampling: (r) => star(5, r * 1.2, r * 0.5),
  "Gaussian processes": (r) => star(6, r * 1.1, r * 0.95),
  moments: (r) => {
    const [a, b] = [r * 0.45, r];
    return `M0 ${-a}L${b - a} ${-b}L${b} ${-b + a}L${a} 0L${b} ${b - a}L${b - a} ${b}L0 ${a}` +
      `L${a - b} ${b}L${-b} ${b - a}L${-a} 0L${-b} ${a - b}L${a - b} ${-b}Z`;
  },
  other: (r) => `M${-r} ${-r * 0.4}H${r}V${r * 0.4}H${-r}Z`,
};

function star(points, outer, inner) {
  const corners = Array.from({ length: 2 * points }, (_, k) => {
    const radius = k % 2 ? inner : outer;
    const angle = (Math.PI * k) / points;
    return `${(radius * Math.sin(angle)).toFixed(2)} ${(-radius * Math.cos(angle)).toFixed(2)}`;
  });
  return `M${corners.join("L")}Z`;
}

function shape(family, x, y, r, attributes = {}) {
  const outline = (OUTLINES[family] ?? OUTLINES.other)(r);
  return svg("path", { d: outline, transform: `translate(${x} ${y})`, ...attributes });
}

function mark(family) {
  const drawn = svg("svg", { class: `mark ${slugOf(family)}`, viewBox: "-6 -6 12 12", "aria-hidden": "true" });
  drawn.append(shape(family, 0, 0, 4.6));
  return drawn;
}

// Numbers as people read them, with a true minus sign.
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

// Method → the name of its page, which is also its name in addresses.
let methodPages = new Map();
const slugOfMethod = (method) => methodPages.get(method) ?? slugOf(method);
const methodPage = (method) => `${ROOT}methods/${slugOfMethod(method)}.html`;
const ROOT = document.documentElement.dataset.root;
