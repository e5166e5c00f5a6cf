"""The page of a data set: its facts and health, and the methods on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.engine.records.record import distance_from_official
from bnnbench.reports.figures.forests import of_scores
from bnnbench.reports.judge.decision import STATES
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import page
from bnnbench.reports.pages.methods.failures import Verdicts
from bnnbench.reports.pages.site.questions import QUESTIONS, question_of
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.facts import DataFacts, data_facts
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import decimals, number, typographic
from bnnbench.reports.style.words import counted


@dataclass(frozen=True)
class Line:
    """A method on a data set: its score with half of its interval, and its state."""

    method: str
    score: str
    state: str
    kind: str


@dataclass(frozen=True)
class Ranked:
    """The methods by one metric, the best mean first."""

    metric: str
    sentences: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Place:
    """The tables of a profile."""

    heading: str
    suite: str
    runs: str
    """The address of the page of its runs."""
    examples: str
    """The address of its page of examples; "" without predictions."""
    tables: Sequence[Ranked]

    @property
    def contents(self) -> str:
        """The number of methods and the scores by which they are compared."""
        methods = {line.method for table in self.tables for line in table.lines}
        return " · ".join([counted(len(methods), "method"), *(t.metric for t in self.tables)])


def data_page(
    name: str,
    address: str,
    benchmarks: Mapping[str, Sequence[Benchmark]],
    pages: Mapping[str, str],
    verdicts: Verdicts,
    run_pages: RunPages,
    examples: RunPages,
    common: dict[str, Any],
) -> str:
    """Return the page of a data set, from suite → its benchmarks on it.

    `pages` has each method's page, `examples` the addresses of pages of examples.
    """
    every = [b for of in benchmarks.values() for b in of]
    facts = {b.origin: data_facts(b) for b in every}
    in_order = _in_order_of_questions(benchmarks)
    judged = [(v, suite, b) for suite, b in in_order for v in verdicts[suite, b.identity]]
    return page(
        *("dataset.html", address, f"{every[0].title} · bnnbench", "Data sets", common),
        name=name,
        pages=pages,
        heading=every[0].title,
        facts=_of_most_official(facts),
        origins=list(facts),
        figure=next(
            (of for v, suite, b in judged if (of := of_scores(v, _heading(suite, b)))), None
        ),
        places=[
            Place(
                _heading(suite, b),
                suite,
                run_pages[suite, b.identity],
                examples.get((suite, b.identity), ""),
                tables,
            )
            for suite, b in in_order
            if (tables := [_ranked(v) for v in verdicts[suite, b.identity] if v.cells])
        ],
    )


def _in_order_of_questions(
    benchmarks: Mapping[str, Sequence[Benchmark]],
) -> list[tuple[str, Benchmark]]:
    """Return the benchmarks of all suites; those used by the board come first, in its order."""
    suites = list(benchmarks)

    def order(item: tuple[str, Benchmark]) -> tuple[int, int, int]:
        suite, benchmark = item
        asked = question_of(suite, benchmark.profile)
        place = QUESTIONS.index(asked) if asked else len(QUESTIONS)
        return place, suites.index(suite), -len(benchmark.runs)

    return sorted(((suite, b) for suite, of in benchmarks.items() for b in of), key=order)


def _of_most_official(facts: Mapping[str, DataFacts]) -> DataFacts:
    """Return the facts of the most official data, from origin → facts."""
    return facts[min(facts, key=distance_from_official)]


def _heading(suite: str, benchmark: Benchmark) -> str:
    setting = f", {benchmark.setting}" if benchmark.setting else ""
    asked = question_of(suite, benchmark.profile)
    question = f": {asked.data}, settings {asked.settings}" if asked else ""
    return f"{labels.suite(suite)}, profile {labels.profile(benchmark.profile)}{setting}{question}"


def _ranked(verdict: Judged) -> Ranked:
    column = verdict.column
    cells = verdict.cells
    places = decimals(
        [cell.mean * column.scale for cell in cells.values()],
        [(cell.half_width or 0.0) * column.scale for cell in cells.values()],
    )
    unit = f" ({column.unit})" if column.unit else ""
    return Ranked(
        labels.sentence(verdict.name) + unit,
        " ".join(verdict.verdict),
        [_line(method, cell, places, column.scale) for method, cell in verdict.ordered],
    )


def _line(method: str, cell: Cell, places: int, scale: float) -> Line:
    text = number(cell.mean * scale, places)
    if cell.half_width is not None:
        text += f" ± {number(cell.half_width * scale, places)}"
    excluded = cell.standing.excluded
    state = f"not compared: {excluded.reason}" if excluded else STATES[cell.standing.state]
    kind = "apart" if excluded else str(cell.standing.state)
    return Line(method, typographic(text), state, kind)
