"""One column of a report's table, and its decision in sentences."""

from collections.abc import Iterator, Mapping

from bnnbench.reports.judge.decision import Standing
from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.judge.sentences import margin_text
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import number
from docs.generate.finished_runs import suites

STATES = {
    "best": "best",
    "leads": "leads",
    "equal": "practically equal",
    "undecided": "undecided",
    "worse": "worse",
    "": "not tested",
}


def column_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method, the best mean first."""
    column = _judged(options)
    yield ("method", labels.metric(column.metric), "± (95 %)", "decision")
    yield ("---", "---:", "---:", "---")
    sign = -1 if column.column.higher_is_better else 1
    for method, cell in sorted(column.cells.items(), key=lambda item: sign * item[1].mean):
        mean, half = (
            number(None if value is None else value * column.column.scale, column.column.decimals)
            for value in (cell.mean, cell.half_width)
        )
        yield (method, mean, half, _decision(column.decision.standings[method]))


def column_text(options: Mapping[str, str]) -> str:
    """Return the sentences that a report has about the column, and its margin."""
    column = _judged(options)
    sentences = " ".join([*column.verdict, *column.remarks])
    margin = f"{margin_text(column.column)} of {labels.in_text(column.metric)}"
    return f"> {sentences} Practically equal means within {margin}.\n"


def count_text(options: Mapping[str, str]) -> str:
    """Return the number of methods in the state `count`, or of all compared methods."""
    decision = _judged(options).decision
    if options["count"] == "compared":
        return str(sum(map(len, decision.candidates)))
    (state,) = (state for state in STATES if STATES[state] == options["count"])
    return str(len(decision.named(state)))


def _decision(standing: Standing) -> str:
    if standing.excluded:
        return f"not compared: {standing.excluded.reason}"
    return STATES[standing.state]


def _judged(options: Mapping[str, str]) -> Judged:
    """Return the column named by `suite`, `profile`, `dataset` and `metric`."""
    found = [
        benchmark
        for benchmark in suites()[options["suite"]]
        if (benchmark.profile, benchmark.title) == (options["profile"], options["dataset"])
    ]
    if len(found) != 1 or not (column := judged(found[0], options["metric"])):
        raise ValueError(f"no single column of docs/bundle for {dict(options)}")
    return column
