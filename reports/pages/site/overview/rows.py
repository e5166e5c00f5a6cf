"""The rows of the overview: methods with their variants folded in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from bnnbench.reports.pages.site.overview.asks import Asked
from bnnbench.reports.pages.site.overview.cells import Cell
from bnnbench.reports.pages.site.overview.states import EVERYONE, USUAL, State
from bnnbench.reports.pages.site.ranking import mean_seconds
from bnnbench.reports.style.families import NO_NETWORKS, PLAIN
from bnnbench.reports.style.variants import in_words, method_of

FEWEST_QUESTIONS = 3
"""Methods with fewer questions, none of them decided over data sets as random, stand apart."""

States = Mapping[str, Mapping[str, State]]
"""column → state → its answer and cells"""


@dataclass(frozen=True)
class Row:
    """A method, its variants with the main one first, and its place in the order."""

    name: str
    variants: tuple[str, ...]
    family: str
    cost: float | None
    """Median over questions of its fit time in multiples of the plain network's."""
    wins: float
    """Mean over questions of the share of others shown to be worse less the share shown better."""
    several: bool
    """True if it was run on several questions, or on one that many data sets decide."""

    @property
    def for_scale(self) -> bool:
        """True if it is no Bayesian network."""
        return self.family in NO_NETWORKS

    @property
    def part(self) -> int:
        """0: run on several questions, 1: on one or two of few data sets, 2: no network."""
        return 2 if self.for_scale else int(not self.several)


def shown(cells: Mapping[str, Cell], variants: Sequence[str]) -> tuple[str, Cell] | None:
    """Return the first of the variants with a cell, never the best: that would reward many."""
    return next(((m, cells[m]) for m in variants if m in cells), None)


def rows_of(columns: Sequence[Asked], states: States) -> list[Row]:
    """Return a row for each method, the largest share of decided wins first, within three parts."""
    families = {m: f for c in columns if c.task for m, f in c.task.families.items()}
    run = {m for by_name in states.values() for m in by_name[EVERYONE].cells}
    by_method: dict[str, list[str]] = {}
    for label in families:
        if label in run:
            by_method.setdefault(method_of(label), []).append(label)
    rows = [_row(name, of, families, columns, states) for name, of in by_method.items()]
    return sorted(rows, key=lambda row: (row.part, -row.wins, row.name.casefold()))


def _row(
    name: str,
    labels: Sequence[str],
    families: Mapping[str, str],
    columns: Sequence[Asked],
    states: States,
) -> Row:
    variants = sorted(labels, key=lambda m: (in_words(m).count(","), labels.index(m)))
    family = families[variants[0]]
    state = EVERYONE if family in NO_NETWORKS else USUAL
    at = [states[c.ask.name][state] for c in columns]
    cells = [(of, cell[1]) for of in at if (cell := shown(of.cells, variants))]
    costs = [cost for c in columns if (cost := _multiple(c, variants)) is not None]
    return Row(
        name,
        tuple(variants),
        family,
        float(f"{median(costs):.2g}") if costs else None,
        fmean(_wins(of, cell) for of, cell in cells) if cells else 0.0,
        len(cells) >= FEWEST_QUESTIONS or any(of.over_sets for of, _ in cells),
    )


def _wins(of: State, cell: Cell) -> float:
    if cell.kind == "fails" or of.count < 2:
        return -float(cell.kind == "fails")
    return ((of.count - cell.high) - (cell.low - 1)) / (of.count - 1)


def _multiple(column: Asked, variants: Sequence[str]) -> float | None:
    """Return the fit time of the first variant that was run, in that of the plain network."""
    if column.task is None or not column.task.of_processors:
        return None
    seconds = mean_seconds(column.task, column.task.columns)
    plain = next((seconds[m] for m in PLAIN if m in seconds), None)
    first = next((seconds[m] for m in variants if m in seconds), None)
    return first / plain if first and plain else None


def variants_in_front(of: State, row: Row) -> Iterator[str]:
    """Yield the variants in front where the shown one is not."""
    cell = shown(of.cells, row.variants)
    if cell and cell[1].kind in ("middle", "back", "fails"):
        yield from (
            m for m in row.variants if m in of.cells and of.cells[m].kind in ("best", "front")
        )
