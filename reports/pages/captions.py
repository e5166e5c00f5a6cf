"""Texts around a table: its caption, the legend of its marks, and the reason for each state."""

import math
from collections.abc import Iterator, Mapping, Sequence

from bnnbench.reports.judge.contest import Question
from bnnbench.reports.judge.decision import State
from bnnbench.reports.judge.participants import LEGEND
from bnnbench.reports.judge.sentences import (
    left_out,
    margin_text,
    replicate_noun,
    runs_needed,
    sentence,
)
from bnnbench.reports.judge.summaries.planning import MOST_RUNS
from bnnbench.reports.judge.table import Cell, Column, Table
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import number
from bnnbench.reports.style.words import counted_in_words, joined, plural, spelled

MARKS: Mapping[State, str] = {
    "": "",
    "best": "●",
    "leads": "?",
    "equal": "=",
    "worse": "↓",
    "undecided": "?",
    "not eligible": "",
}
"""State → the mark after a number; the other states use bold, brackets and a letter."""

MARKS_LEGEND = (
    "Bold: best mean of the methods that are compared. ● all others are worse or practically "
    "equal; = practically equal to the best; ↓ worse; ? undecided. In brackets, not compared: "
    f"{LEGEND}."
)

QUESTIONS: Mapping[Question, str] = {
    "new seeds and new test points": "new seeds and new test points, paired",
    "new seeds": "new seeds, paired; the test set is taken as given",
    "these networks": "these networks on new test points, paired",
    "new splits": "new splits, paired",
}
"""Question → its name in a caption."""


def caption(table: Table) -> str:
    """Return the meaning of the intervals and of the states in a table; "" if it has neither."""
    return " ".join(
        [
            *_intervals(table),
            *_questions(table.decisions),
            *_margins(table.decisions),
            *_better_means(table),
        ]
    )


def has_marks(table: Table) -> bool:
    """Return whether a cell of the table has a state."""
    cells = (cell for row in table.rows for cell in row.cells)
    return any(isinstance(cell, Cell) and cell.standing.state for cell in cells)


def column_captions(table: Table) -> list[tuple[str, str]]:
    """Return heading and sentences of each column whose methods are compared."""
    each = not not_compared(table)
    captions = []
    for k, column in enumerate(table.columns):
        if text := sentence(column, _cells(table, k), names_left_out=each):
            captions.append((column.heading, text))
    return captions


def headed(table: Table) -> list[str]:
    """Return the sentences of each column, after its heading unless they name the metric."""
    named = {labels.metric(column.name) for column in table.columns}
    return [
        text if heading in named else f"{heading}: {text}"
        for heading, text in column_captions(table)
    ]


def not_compared(table: Table) -> str:
    """Return the sentence on the methods that are not compared in any of several columns."""
    texts = [
        left_out(column, _cells(table, k))
        for k, column in enumerate(table.columns)
        if column.decision
    ]
    return texts[0] if len(texts) > 1 and len(set(texts)) == 1 else ""


def _cells(table: Table, k: int) -> Mapping[str, Cell]:
    return {row.method: cell for row in table.rows if isinstance(cell := row.cells[k], Cell)}


def tooltip(cell: Cell, column: Column) -> str:
    """Return text with the reason for a cell's state, and its interval."""
    parts = [*_reasons(cell, column)]
    decision = column.decision
    if decision and cell.standing.state and decision.runs and cell.runs > decision.runs:
        parts.append(f"compared on the {counted_in_words(decision.runs, 'run')} that all have")
    if cell.half_width is not None and column.kind != "cost":
        low, high = (
            number((cell.mean + sign * cell.half_width) * column.scale, column.decimals)
            for sign in (-1, 1)
        )
        basis = [f"{cell.replicates} {replicate_noun(column)}s"]
        if cell.standard_error is not None:
            error = cell.standard_error * column.scale
            basis.append(f"standard error {number(error, column.decimals + 1)}")
        if column.overlap:
            basis.append(f"overlap {column.overlap:.2g}")
        parts.append(f"{low} to {high} ({', '.join(basis)})")
    return "; ".join(parts)


def _reasons(cell: Cell, column: Column) -> Iterator[str]:
    standing = cell.standing
    worse = f"worse than {standing.witness} (p {p_text(standing.adjusted_p)})"
    match standing.state:
        case "best":
            yield "all others are worse or practically equal"
        case "leads":
            yield "the best mean, but not all others are shown to be worse or equal"
        case "equal":
            yield (
                f"within {margin_text(column)} of every method that may be best "
                f"(p {p_text(standing.equal_p)})"
            )
            if standing.worse:
                yield worse
        case "worse":
            yield worse
        case "undecided":
            yield f"not told from the best (p {p_text(standing.adjusted_p)})"
            if standing.plan and standing.plan.needed <= MOST_RUNS:
                yield f"{runs_needed(standing.plan, replicate_noun(column))} would tell"
            if standing.plan and math.isinf(standing.plan.needed):
                yield f"no number of {plural(replicate_noun(column), 2)} would tell"
            if standing.plan and standing.plan.sure <= MOST_RUNS:
                yield f"{standing.plan.sure:,.0f} would decide whatever the truth"
        case "not eligible":
            assert standing.excluded is not None, "a method that is not eligible has a reason"
            yield f"not compared: {standing.excluded.reason}"
        case "":
            pass


def p_text(value: float | None) -> str:
    """Return "= 0.012", "< 0.0001"."""
    if value is None or math.isnan(value):
        return "unknown"
    return f"= {value:.2g}" if value >= 1e-4 else "< 0.0001"


def _intervals(table: Table) -> Iterator[str]:
    counts: dict[str, set[int]] = {}
    for k, column in enumerate(table.columns):
        for row in table.rows:
            cell = row.cells[k]
            if isinstance(cell, Cell) and cell.half_width is not None and column.kind != "cost":
                counts.setdefault(replicate_noun(column), set()).add(cell.replicates)
    over = [
        f"{spelled(min(c))} to {counted_in_words(max(c), noun)}"
        if len(c) > 1
        else counted_in_words(max(c), noun)
        for noun, c in counts.items()
    ]
    if over:
        yield f"± is half of a 95 % interval over {joined(over)}."


def _questions(columns: Sequence[Column]) -> Iterator[str]:
    by_question: dict[str, dict[str, None]] = {}
    levels: dict[float, None] = {}
    for column in columns:
        if column.decision and column.decision.question:
            text = QUESTIONS[column.decision.question]
            by_question.setdefault(text, {})[labels.in_text(column.name)] = None
            levels[column.decision.level] = None
    if not by_question:
        return
    if len(by_question) == 1:
        yield f"Differences: {next(iter(by_question))}."
    else:
        parts = [f"{joined(list(names))}: {text}" for text, names in by_question.items()]
        yield f"Differences of {'; of '.join(parts)}."
    percent = joined([f"{100 * level:g}" for level in sorted(levels)], last="or")
    yield (
        f"At most {percent} % of such columns call a best method worse. Paired differences can "
        "decide where intervals overlap."
    )


def _margins(columns: Sequence[Column]) -> Iterator[str]:
    margins = {
        f"{text} of {labels.in_text(column.name)}": None
        for column in columns
        if column.decision and column.decision.question and (text := margin_text(column))
    }
    if margins:
        yield f"Practically equal means within {joined(list(margins))}."


def _better_means(table: Table) -> Iterator[str]:
    """Yield a sentence for columns in which a printed mean is better than the leader's."""
    for column in table.decisions:
        decision = column.decision
        if decision and decision.ahead:
            names, runs = joined(list(decision.ahead)), plural("run", decision.runs)
            yield (
                f"{column.heading}: the printed mean of {names} is better than the mean of "
                f"{decision.leaders[0]}, but methods are compared on the {spelled(decision.runs)} "
                f"{runs} that all have."
            )
