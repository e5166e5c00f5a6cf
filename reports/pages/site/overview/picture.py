"""The overview as a picture: an SVG that needs no font for its shapes."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import escape

from bnnbench.reports.pages.site.overview.overview import Overview
from bnnbench.reports.pages.site.overview.page import CHIPS, CLASSES, places

WIDTH, LEFT, TOP, ROW, GAP = 860, 130, 76, 22, 2
FONT = "Helvetica Neue, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif"
SHAPES = {
    "b": "M0-4.6 1.3-1.5 4.5-1.3 2-.8 2.8 4 0 2.2-2.8 4-2 .8-4.5-1.3-1.3-1.5Z",
    "f": "M0-4 4 3.5H-4Z",
    "m": "M-3.3-3.3H3.3V3.3H-3.3Z",
    "k": "M0 4 4-3.5H-4Z",
}
"""Class of a cell → the outline of its shape; others have a letter."""
LETTERS = {"u": "?", "x": "×"}


@dataclass(frozen=True)
class Colours:
    """Grounds and texts of the classes of cells, and of the page."""

    paper: str
    ink: str
    muted: str
    rule: str
    classes: dict[str, tuple[str, str]]


LIGHT = Colours("#ffffff", "#16191d", "#59616b", "#d9dde2", {
    "b": ("#08305c", "#ffffff"), "f": ("#1f62a8", "#ffffff"), "m": ("#bdd7f2", "#102c4a"),
    "k": ("#f6dfb8", "#4f3200"), "u": ("#ebecee", "#555b63"), "x": ("none", "#9c1c12"),
})  # fmt: skip
DARK = Colours("#14171b", "#e7e9ec", "#a5adb7", "#3a414a", {
    "b": ("#b9dcff", "#06203c"), "f": ("#5fa6e8", "#03172b"), "m": ("#274d77", "#dcebfb"),
    "k": ("#54401c", "#f6dfb8"), "u": ("#2a2f36", "#b6bdc6"), "x": ("none", "#ffb3aa"),
})  # fmt: skip


def picture(of: Overview, colours: Colours) -> str:
    """Return the methods run on several questions by question, as SVG text."""
    rows, step = of.of_part(0), (WIDTH - LEFT) / len(of.columns)
    height = TOP + ROW * len(rows) + 30
    title = "Methods by question, with the places that the tests leave open"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="t d" font-family="{FONT}" font-size="11.5">',
        f'<title id="t">{title}</title><desc id="d">{escape(of.knowledge)}</desc>',
        f'<rect width="{WIDTH}" height="{height}" fill="{colours.paper}"/>',
        *_heads(of, colours, step),
    ]
    for k, row in enumerate(rows):
        y = TOP + ROW * k
        parts.append(_text(4, y + 15, row.name, colours.ink, "start", 12.5))
        for column, ask in enumerate(of.columns):
            if cell := of.cell(row, ask):
                kind = CLASSES[cell[1].kind]
                x = LEFT + step * column
                first = of.is_first(row, ask, cell[0])
                parts.append(_cell(x, y, step, kind, places(cell[1]), colours, first))
    note = (
        "1–17: first to seventeenth, as far as the tests can tell. ★ all others worse, ▲ none "
        "shown better, ■ up to half, ▼ over half, ? undecided."
    )
    parts.append(_text(4, height - 9, note, colours.muted, "start", 11))
    return "\n".join([*parts, "</svg>\n"])


def _heads(of: Overview, colours: Colours, step: float) -> Iterator[str]:
    """Yield the groups, the headings and the grades of the columns."""
    start = 0.0
    for name, count in of.groups:
        x, end = LEFT + step * start, LEFT + step * (start + count) - 4
        yield _text(x + 2, 13, name, colours.muted, "start", 11.5)
        yield f'<path d="M{x:.1f} 18H{end:.1f}" stroke="{colours.rule}"/>'
        start += count
    for k, column in enumerate(of.columns):
        middle = LEFT + step * (k + 0.5)
        for line, word in enumerate(column.head.split()[:2]):
            yield _text(middle, 32 + 12 * line, word, colours.ink, "middle", 11)
        grade = of.told(column).grade
        chip = CHIPS[grade]
        ground, text = colours.classes.get(chip, ("none", colours.muted))
        x = LEFT + step * k + GAP / 2
        yield f'<rect x="{x:.1f}" y="51" width="{step - GAP:.1f}" height="19" fill="{ground}"/>'
        short = {"not shown to be best": "open", "not decided": "?", "no runs": "–"}
        yield _text(middle, 64, short.get(grade, grade), text, "middle", 10.5)
    yield _text(4, 64, "How sure", colours.muted, "start", 11.5)


def _cell(
    x: float, y: float, step: float, kind: str, text: str, colours: Colours, is_first: bool
) -> str:
    ground, ink = colours.classes[kind]
    stroke = f' stroke="{colours.ink if is_first else ink}"' if is_first or kind == "x" else ""
    box = (
        f'<rect x="{x + GAP / 2:.1f}" y="{y + 1}" width="{step - GAP:.1f}" height="{ROW - GAP}" '
        f'rx="2" fill="{ground}"{stroke}/>'
    )
    if kind in SHAPES:
        place = f"translate({x + 11:.1f} {y + ROW / 2:.1f}) scale(.8)"
        mark = f'<path d="{SHAPES[kind]}" transform="{place}" fill="{ink}"/>'
    else:
        mark = _text(x + 11, y + 15, LETTERS[kind], ink, "middle", 10.5)
    return box + mark + _text(x + step / 2 + 7, y + 15, text, ink, "middle", 11)


def _text(x: float, y: float, text: str, fill: str, anchor: str, size: float) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" '
        f'font-size="{size}">{escape(text)}</text>'
    )
