"""A card for each method, from its docstrings, settings, search space and docs/bundle."""

import functools
from collections.abc import Iterator, Mapping, Sequence

from bnnbench.commands.methods import settings_of
from bnnbench.engine.method_settings.search_spaces import searched
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.card import FAMILIES, PROBLEMS, card_of
from bnnbench.reports.pages.methods.about import about
from bnnbench.reports.pages.methods.failures import Entry, Verdicts, failures_of, verdicts_of
from bnnbench.reports.pages.site.ranking import Ranking, Row, ranked
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import counted, joined
from docs.generate.finished_runs import suites, tasks

STATES = {
    "best": "best",
    "leads": "best mean",
    "equal": "practically equal to the best",
    "undecided": "cannot be told from the best",
    "worse": "worse",
    "": "not decided",
}
"""State of a compared method → its description."""


def cards() -> str:
    """Return the cards of all registered methods in Markdown, by family."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for family in FAMILIES:
        names = [name for name in METHODS if card_of(name).family == family]
        if names:
            yield f"## {labels.sentence(family)}\n"
        for name in names:
            yield from _card(name)


def _card(name: str) -> Iterator[str]:
    kind, known = method_type(METHODS[name]), about({"type": name})
    yield f"### {name}\n"
    yield from (f"{text}\n" for text in (*known.of_module, *known.of_class))
    if known.source:
        yield f"Source: {known.source}\n"
    kinds = card_of(name).problems
    takes = "every kind of problem" if len(kinds) == len(PROBLEMS) else ""
    trained = ", with a trained network and rows that it has not seen" * card_of(name).trained
    yield f"Accepts {takes or joined([PROBLEMS[kind] for kind in kinds])}{trained}.\n"
    if rows := list(_settings(kind)):
        yield from _folded(f"Settings ({len(rows) - 2})", [*rows, "", _searched(name)])
    else:
        yield "It has no settings.\n"
    if rows := list(_standing(name)):
        yield from _folded(f"Standing and cost ({counted(len(rows) - 2, 'row')})", rows)
    else:
        yield f"{_why_not_ranked(name)}\n"
    if failures := list(_failures(name)):
        yield from _folded(f"Fails when ({counted(len(failures), 'condition')})", failures)


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a folded block of Markdown that a reader can open."""
    yield f'<details markdown="1"><summary>{title}</summary>\n'
    yield from lines
    yield "\n</details>\n"


def _settings(kind: type) -> Iterator[str]:
    """Yield a table of the settings, and no line if there are none."""
    for place, (setting, default, values, meaning) in enumerate(settings_of(kind)):
        if not place:
            yield "| setting | default | meaning |"
            yield "| --- | --- | --- |"
        yield f"| `{setting}` | {_cell(_code(default))} | {_cell(meaning or values)} |"


def _code(text: str) -> str:
    return text if text == "needed" else f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _searched(name: str) -> str:
    """Return a sentence on the settings that tuned profiles search."""
    space = searched(name)
    if space is None:
        return "Its search space is unknown here because its package is missing."
    if not space:
        return "Tuned profiles search none of its settings."
    return f"Tuned profiles search {joined([f'`{path}` ({law})' for path, law in space])}."


def _standing(name: str) -> Iterator[str]:
    """Yield a table of the method's places on the board, one row for each question and label."""
    rows = [
        (task, ranking, row)
        for task, ranking in _rankings()
        for row in ranking.rows
        if _registered(ranking, row) == name
    ]
    if not rows:
        return
    yield "| label | question | decision | behind the best | time per fit |"
    yield "| --- | --- | --- | ---: | ---: |"
    for task, ranking, row in rows:
        question = task.question
        place = f"{question.kind}: {question.data}, settings {question.settings}"
        seconds = duration(row.seconds) if row.seconds is not None else "unknown"
        yield f"| {row.method} | {place} | {_state(row)} | {_behind(ranking, row)} | {seconds} |"


def _why_not_ranked(name: str) -> str:
    if card_of(name).around:
        return "It wraps another method, whose card has its runs."
    if entries := _entries().get(name, ()):
        runs = sum(len(entry.runs) for entry in entries)
        suites_of = joined(sorted({f"`{entry.suite}`" for entry in entries}))
        return f"The board does not rank it; the bundle has {counted(runs, 'run')}: {suites_of}."
    return "The bundle has no runs of it yet."


def _state(row: Row) -> str:
    if row.standing.excluded:
        return f"not compared: {row.standing.excluded.reason}"
    return STATES[row.standing.state]


def _behind(ranking: Ranking, row: Row) -> str:
    """Return the distance of its mean from the best mean, with its interval."""
    if row.margin is None or row.low is None or row.high is None:
        return "0" if row.standing.state in ("best", "leads") else ""
    ends = f"{row.low:.2g} to {row.high:.2g}".replace("-", "−")
    return f"{row.margin:.2g} ({ends}) {ranking.scale.unit}"


def _failures(name: str) -> Iterator[str]:
    """Yield a list of the method's failures in its runs, as on the pages of methods."""
    for failure in failures_of(_entries().get(name, ()), _verdicts()):
        named = "; ".join(f"{_place(i.entry, name)}: {i.text}" for i in failure.named)
        yield f"- **{failure.condition}.** {labels.sentence(named)}."


def _place(entry: Entry, name: str) -> str:
    """Return the data set, with the label of the runs if the method has several."""
    several = len({e.method for e in _entries()[name]}) > 1
    return f"{entry.title}, as {entry.method}" if several else entry.title


@functools.cache
def _verdicts() -> Verdicts:
    return verdicts_of(suites())


@functools.cache
def _entries() -> Mapping[str, Sequence[Entry]]:
    """Return registered name → its runs, by benchmark and label."""
    found: dict[str, list[Entry]] = {}
    for suite, benchmarks in suites().items():
        for benchmark in benchmarks:
            for label, runs in benchmark.runs.items():
                name = about(runs[0].run.get("method")).name
                found.setdefault(name, []).append(Entry(suite, benchmark, label))
    return found


@functools.cache
def _rankings() -> Sequence[tuple[Task, Ranking]]:
    """Return each question with its ranking by its first criterion."""
    return [(task, ranked(task, task.scales[0].name)) for task in tasks()]


def _registered(ranking: Ranking, row: Row) -> str:
    """Return the registered name of a row's method."""
    return _names()[ranking.columns[0].suite, ranking.columns[0].profile, row.method]


@functools.cache
def _names() -> Mapping[tuple[str, str, str], str]:
    """Return suite, profile and label → registered name."""
    return {
        (suite, benchmark.profile, label): about(runs[0].run.get("method")).name
        for suite, benchmarks in suites().items()
        for benchmark in benchmarks
        for label, runs in benchmark.runs.items()
    }
