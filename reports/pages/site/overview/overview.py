"""The overview as one value, from which the page and the picture of the README are made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bnnbench.reports.pages.site.overview.asks import Asked, asked_of
from bnnbench.reports.pages.site.overview.cells import Cell
from bnnbench.reports.pages.site.overview.facts import Told
from bnnbench.reports.pages.site.overview.rows import Row, States, rows_of, shown, variants_in_front
from bnnbench.reports.pages.site.overview.states import EVERYONE, USUAL, states_of
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted_in_words, joined, spelled

HAVE = ("has", "have")
PARTS = ("", "Run on one or two questions of few data sets", "No Bayesian network, for scale")
GRADES = {
    "best": "best",
    "leads": "leads",
    "not shown to be best": "not shown best",
    "not decided": "not decided",
    "no runs": "no runs",
}
"""Grade → its short name on a chip."""


@dataclass(frozen=True)
class Overview:
    """Columns, rows, and the states of every column."""

    columns: tuple[Asked, ...]
    rows: tuple[Row, ...]
    states: States

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Groups of columns with their number."""
        return [(name, len([*of])) for name, of in groupby(self.columns, lambda c: c.ask.group)]

    @property
    def networks(self) -> list[Row]:
        """The rows of Bayesian networks."""
        return [row for row in self.rows if not row.for_scale]

    def of_part(self, part: int) -> list[Row]:
        """Return the rows of a part of the table."""
        return [row for row in self.rows if row.part == part]

    def told(self, column: Asked) -> Told:
        """Return the usual answer of a column."""
        return self.states[column.ask.name][USUAL].told

    def cell(self, row: Row, column: Asked, variant: str = "") -> tuple[str, Cell] | None:
        """Return the shown variant and its cell in the usual state; None if it was not run."""
        name = EVERYONE if row.for_scale else USUAL
        return shown(
            self.states[column.ask.name][name].cells, [variant] if variant else row.variants
        )

    def is_first(self, row: Row, column: Asked, variant: str) -> bool:
        """Return whether a variant has the largest mean of a column."""
        name = EVERYONE if row.for_scale else USUAL
        return self.states[column.ask.name][name].first == variant

    def has_front(self, row: Row, column: Asked) -> bool:
        """Return whether a variant that is not shown is in front."""
        name = EVERYONE if row.for_scale else USUAL
        return any(variants_in_front(self.states[column.ask.name][name], row))

    @property
    def counted(self) -> str:
        """The sentence on the number of methods and variants, and on the scores that rank them."""
        variants = sum(len(row.variants) for row in self.networks)
        return (
            f"{len(self.networks)} methods in {variants} variants, by log likelihood on test rows; "
            "out of distribution, by AUROC."
        )

    @property
    def knowledge(self) -> str:
        """The sentence on how many questions have each grade."""
        return knowledge(Counter(self.told(c).grade for c in self.columns))


def knowledge(counts: Mapping[str, int]) -> str:
    """Return the sentence on how many questions have each grade."""
    parts = [
        ("best", "has a best method", "have a best method"),
        ("leads", "has a leader", "have a leader"),
        ("not shown to be best", *(f"{v} a first that is not shown to be best" for v in HAVE)),
        ("not decided", "is not decided", "are not decided"),
        ("no runs", "is not yet run", "are not yet run"),
    ]
    told = [
        f"{spelled(n)} {one if n == 1 else several}"
        for name, one, several in parts
        if (n := counts.get(name, 0))
    ]
    questions = counted_in_words(sum(counts.values()), "question")
    return labels.sentence(f"of {questions}, {joined(told)}.")


def overview(tasks: Sequence[Task]) -> Overview:
    """Return the overview of the board's questions."""
    columns = asked_of(tasks)
    states = {column.ask.name: states_of(column.task) for column in columns}
    return Overview(tuple(columns), tuple(rows_of(columns, states)), states)
