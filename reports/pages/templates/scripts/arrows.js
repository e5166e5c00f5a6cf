// Tab reaches one cell of a table; arrow keys move to its neighbours that have a button.

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const buttonAt = (row, index) => row.cells[index]?.querySelector("button");

function moveByArrows(event) {
  const move = MOVES[event.key];
  const cell = event.target.closest("td");
  if (!move || !cell) return;
  event.preventDefault();
  const [down, right] = move;
  let [row, index] = [cell.parentNode, cell.cellIndex];
  do {
    row = down > 0 ? row.nextElementSibling : down < 0 ? row.previousElementSibling : row;
    index += right;
  } while (row && index > 0 && index < row.cells.length && (row.hidden || !buttonAt(row, index)));
  const next = row && buttonAt(row, index);
  if (!next) return;
  for (const other of event.currentTarget.querySelectorAll("td button")) other.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
