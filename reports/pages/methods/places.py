"""The places of a method over the questions of the overview: as a figure, and in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bnnbench.methods.card import Family
from bnnbench.reports.figures.forests import Forest, of_places
from bnnbench.reports.pages.site.overview.asks import Asked
from bnnbench.reports.pages.site.overview.cells import Cell
from bnnbench.reports.pages.site.overview.overview import Overview
from bnnbench.reports.pages.site.overview.page import CLASSES, places
from bnnbench.reports.pages.site.overview.rows import shown
from bnnbench.reports.pages.site.overview.states import EVERYONE, USUAL
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import NO_NETWORKS
from bnnbench.reports.style.words import joined

SLOT, HEIGHT, EDGE = 8, 24, 3
"""Width of a question in a sparkline, its height, and the free space above and below."""
TITLE = "Places by question"
NOTE = "The places among {others} that the tests leave open, the first place right."


@dataclass(frozen=True)
class Standing:
    """A method's cell in a question, of so many methods."""

    asked: Asked
    cell: Cell
    count: int
    advised: bool = False
    """True if the answer to the question is to use this method."""

    def share(self, place: int) -> float:
        """Return the share of other methods behind a place."""
        return 1.0 if self.count < 2 else (self.count - place) / (self.count - 1)

    @property
    def text(self) -> str:
        """The places as text: "1–17 of 22"."""
        fails = self.cell.kind == "fails"
        return places(self.cell) if fails else f"{places(self.cell)} of {self.count}"


def standings_of(of: Overview, variants: Sequence[str], family: Family) -> list[Standing | None]:
    """Return the standing of the first variant that was run, question by question."""
    name = EVERYONE if family in NO_NETWORKS else USUAL
    standings: list[Standing | None] = []
    for column in of.columns:
        state = of.states[column.ask.name][name]
        cell = shown(state.cells, variants)
        advised = bool(set(variants) & set(state.told.uses))
        standings.append(Standing(column, cell[1], state.count, advised) if cell else None)
    return standings


def figure_of(standings: Sequence[Standing | None], family: Family) -> Forest | None:
    """Return the places by question; None if the method was run on none."""
    rows = {
        one.asked.title: (
            *((0.0, 0.0) if one.cell.kind == "fails" else _ends(one)),
            one.text,
            one.cell.kind,
        )
        for one in standings
        if one
    }
    others = "all methods" if family in NO_NETWORKS else "networks"
    return of_places(TITLE, NOTE.format(others=others), rows)


def _ends(one: Standing) -> tuple[float, float]:
    return one.share(one.cell.high), one.share(one.cell.low)


@dataclass(frozen=True)
class Sparkline:
    """A small figure of places: a path for each class of cells, and the same as text."""

    paths: dict[str, str]
    width: int
    description: str


def sparkline_of(standings: Sequence[Standing | None]) -> Sparkline | None:
    """Return bars over the open places, the first place at the top; None without any."""
    paths: dict[str, str] = {}
    for k, one in enumerate(standings):
        if one:
            kind = CLASSES[one.cell.kind]
            paths[kind] = paths.get(kind, "") + f"M{SLOT * k + SLOT // 2} {_span(one)}"
    listed = "; ".join(f"{one.asked.head}: {one.text}" for one in standings if one)
    return Sparkline(paths, SLOT * len(standings), listed) if paths else None


def _span(one: Standing) -> str:
    """Return the vertical ends of a bar, at least two units apart."""
    if one.cell.kind == "fails":
        return f"{HEIGHT - EDGE}v1"
    top, end = (_y(one.share(place)) for place in (one.cell.low, one.cell.high))
    return f"{top - 1}V{end + 1}"


def _y(share: float) -> int:
    return round(EDGE + (1 - share) * (HEIGHT - 2 * EDGE))


def good_at(standings: Sequence[Standing | None]) -> list[str]:
    """Return sentences on the questions in which a method is in front, or that there is none."""
    return [labels.sentence(text) for text in _clauses([one for one in standings if one])]


def _clauses(standings: Sequence[Standing]) -> Iterator[str]:
    best = [one for one in standings if one.cell.kind == "best"]
    advised = [one for one in standings if one.advised and one not in best]
    front, undecided = (
        [one for one in standings if one.cell.kind == kind and not one.advised]
        for kind in ("front", "undecided")
    )
    if best:
        yield f"best, all others worse: {_listed(best)}."
    if advised:
        yield f"the method to use, though not shown to be best: {_listed(advised)}."
    if front:
        yield f"in front, with none shown better and half or more shown worse: {_listed(front)}."
    if standings and not (best or front or advised):
        yield "in front on no question of the overview."
    if undecided:
        yield f"undecided, where no method is shown better: {_listed(undecided)}."


def _listed(standings: Sequence[Standing]) -> str:
    return joined([f"{one.asked.title} ({one.text})" for one in standings])
