// Curves under the pointer: finds the nearest method of a drawing, and raises its group.
const NEAR = 14;
const SVG = "http://www.w3.org/2000/svg";

// The lines of a group, as lists of corners; a mark is a line of one corner.
function lines(group) {
  const found = [];
  for (const path of group.querySelectorAll(":scope > path"))
    for (const [, letter, x, y] of path.getAttribute("d").matchAll(/([ML])\s*(-?[\d.]+) (-?[\d.]+)/g))
      if (letter === "M") found.push([[Number(x), Number(y)]]);
      else found.at(-1)?.push([Number(x), Number(y)]);
  for (const mark of group.querySelectorAll("use"))
    found.push([[Number(mark.getAttribute("x")), Number(mark.getAttribute("y"))]]);
  return found;
}

function distance([px, py], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const along = dx || dy ? ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy) : 0;
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

const drawn = new WeakMap();
function curvesOf(svg) {
  if (!drawn.has(svg)) {
    const groups = [...svg.querySelectorAll(".curve[data-method]")];
    drawn.set(svg, groups.map((group) => ({ method: group.dataset.method, lines: lines(group) })));
  }
  return drawn.get(svg);
}

// The method under the pointer: by its name, or the nearest curve within a few pixels.
function methodAt(svg, event) {
  const named = event.target.closest(".label, .row");
  if (named) return named.dataset.method;
  const matrix = svg.getScreenCTM();
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  let [nearest, least] = [null, NEAR / matrix.a];
  for (const curve of curvesOf(svg))
    for (const line of curve.lines)
      for (let k = 0; k < line.length; k++) {
        const far = distance([x, y], line[Math.max(0, k - 1)], line[k]);
        if (far < least) [nearest, least] = [curve.method, far];
      }
  return nearest;
}

// Groups drawn last lie above the others; each returns to its place before the next are raised.
function raiser(groups) {
  const homes = groups.map((group) => [group.parentNode, group.nextSibling]);
  let raised = [];
  return (lifted) => {
    for (const k of raised.reverse()) homes[k][0].insertBefore(groups[k], homes[k][1]);
    raised = [...groups.keys()].filter((k) => lifted.has(groups[k].dataset.method));
    for (const k of raised) groups[k].parentNode.append(groups[k]);
  };
}

// The name of a method at the end of its curve, if the drawing has none.
function nameIn(svg, method) {
  const groups = [...svg.querySelectorAll("[data-method]")].filter((g) => g.dataset.method === method);
  if (!groups.length || groups.some((g) => g.matches(".label, .row"))) return null;
  const curve = curvesOf(svg).find((one) => one.method === method && one.lines.length);
  const [x, y] = curve?.lines[0].at(-1) ?? [NaN, NaN];
  const { width, height } = svg.viewBox.baseVal;
  if (!(x >= 0 && x <= width && y >= 0 && y <= height)) return null;
  const label = document.createElementNS(SVG, "g");
  const text = document.createElementNS(SVG, "text");
  label.setAttribute("class", "label lifted");
  const attributes = { x, y: Math.max(9, y - 5), "font-size": 7, "text-anchor": x > width / 2 ? "end" : "start" };
  for (const [key, value] of Object.entries(attributes)) text.setAttribute(key, value);
  text.textContent = method.length > 28 ? `${method.slice(0, 27)}…` : method;
  label.append(text);
  svg.append(label);
  return label;
}
