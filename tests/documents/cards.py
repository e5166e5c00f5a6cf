"""A card for each method: from its docstrings, its settings, its search space and docs/bundle."""

import functools
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bnnbench.methods import METHODS, coverage, glossary, method_type
from bnnbench.methods.tuning.space import Space
from bnnbench.reports.board.about import about
from bnnbench.reports.board.ranking import Ranking, Row, ranked
from bnnbench.reports.board.tasks import Task
from bnnbench.reports.read.exclusions import unconverged
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import FAMILIES, METHOD_FAMILIES, OTHER, WRAPPERS
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import counted, joined
from bnnbench.suites.engine.command.methods.page import described, settings_of
from bnnbench.suites.engine.command.methods.settings import constructed
from bnnbench.suites.engine.command.misuse import UsageError
from bnnbench.suites.engine.store.record import Record
from tests.documents.finished_runs import suites, tasks

STATES = {
    "best": "best",
    "leads": "best mean",
    "equal": "practically equal to the best",
    "undecided": "cannot be told from the best",
    "worse": "worse",
    "": "not decided",
}
"""State of a compared method → its words."""


def cards() -> str:
    """Return the cards of all registered methods in Markdown, by family."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    by_family = {name: METHOD_FAMILIES.get(name, OTHER) for name in METHODS}
    for family in FAMILIES:
        names = [name for name, own in by_family.items() if own == family]
        if names:
            yield f"## {labels.sentence(family)}\n"
        for name in names:
            yield from _card(name)


def _card(name: str) -> Iterator[str]:
    kind = method_type(METHODS[name])
    yield f"### {name}\n"
    yield from (f"{text}\n" for text in _said(kind))
    if source := glossary.source_of(kind):
        yield f"Source: {_titled(source)}\n"
    kinds = coverage.covered(name)
    takes = "everything" if len(kinds) == len(coverage.PROBLEMS) else ""
    yield f"Takes {takes or joined([coverage.PROBLEMS[k] for k in kinds])}.\n"
    if troubles := _troubles(name):
        yield f"{troubles}\n"
    if rows := list(_settings(kind)):
        yield from _folded(f"Settings ({len(rows) - 2})", [*rows, "", _searched(kind)])
    else:
        yield "It has no settings.\n"
    if rows := list(_standing(name)):
        yield from _folded(f"Standing and cost ({counted(len(rows) - 2, 'row')})", rows)
    else:
        yield f"{_why_not_ranked(name)}\n"


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield lines of Markdown that a reader opens."""
    yield f'<details markdown="1"><summary>{title}</summary>\n'
    yield from lines
    yield "\n</details>\n"


def _settings(kind: type) -> Iterator[str]:
    """Yield a table of the settings, without a line where there are none."""
    for place, (setting, default, values, meaning) in enumerate(settings_of(kind)):
        if not place:
            yield "| setting | default | meaning |"
            yield "| --- | --- | --- |"
        yield f"| `{setting}` | {_cell(_code(default))} | {_cell(meaning or values)} |"


def _said(kind: type) -> Iterator[str]:
    """Yield the paragraphs of the module's docstring and then of the class's, without sources."""
    module = inspect.getmodule(kind)
    for documented in (module, kind):
        for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(documented.__doc__ or "")):
            text = re.split(r"(?:^|(?<=\s))Sources?\b[^.:]{0,20}: ", paragraph)[0].strip()
            if text:
                yield _titled(text)


def _titled(text: str) -> str:
    return re.sub(r"(?:seed )?[Pp]aper (\d{3})", lambda found: f"“{labels.PAPERS[found[1]]}”", text)


def _code(text: str) -> str:
    return text if text == "needed" else f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _searched(kind: type) -> str:
    """Return what tuned profiles search, in a sentence."""
    try:
        instance: object = constructed(kind, {})
    except UsageError:  # settings without defaults
        instance = kind
    space = getattr(instance, "space", None)
    if not isinstance(space, Space) or space.is_empty:
        return "Tuned profiles search none of its settings."
    found = [f"`{path}` ({described(law)})" for path, law in space.fields.items()]
    length = [f"the length `{space.length}`"] if space.length else []
    return f"Tuned profiles search {joined([*found, *length])}."


def _standing(name: str) -> Iterator[str]:
    """Yield a table of its places on the board, one row for each question and label."""
    rows = [
        (task, ranking, row)
        for task, ranking in _rankings()
        for row in ranking.rows
        if _registered(ranking, row) == name
    ]
    if not rows:
        return
    yield "| as | what for | decision | behind the best | a fit |"
    yield "| --- | --- | --- | ---: | ---: |"
    for task, ranking, row in rows:
        question = task.question
        place = f"{question.kind}: {question.data}, settings {question.settings}"
        seconds = duration(row.seconds) if row.seconds is not None else "unknown"
        yield f"| {row.method} | {place} | {_state(row)} | {_behind(ranking, row)} | {seconds} |"


def _why_not_ranked(name: str) -> str:
    if name in WRAPPERS:
        return "It is around another method, whose card has its runs."
    if runs := _runs().get(name, ()):
        suites_of = joined(sorted({f"`{run.suite}`" for run in runs}))
        return (
            f"The board does not rank it; the bundle has {counted(len(runs), 'run')}: {suites_of}."
        )
    return "The bundle has no runs of it yet."


def _state(row: Row) -> str:
    if row.standing.excluded:
        return f"not compared: {row.standing.excluded.reason}"
    return STATES[row.standing.state]


def _behind(ranking: Ranking, row: Row) -> str:
    """Return the distance of its mean from the best one, with half of its interval."""
    if row.margin is None or row.half_width is None:
        return "0" if row.standing.state in ("best", "leads") else ""
    return f"{row.margin:.2g} ± {row.half_width:.2g} {ranking.scale.unit}"


def _troubles(name: str) -> str:
    """Return how many of its runs did not end well, "" where all did."""
    runs = _runs().get(name, ())
    ends = Counter(run.status for run in runs)
    parts = [f"{n} {end}" for end, n in sorted(ends.items()) if end != "completed"]
    if count := unconverged(runs):
        parts.append(
            f"{count} did not converge by {'its' if count == 1 else 'their'} own diagnostics"
        )
    return f"Of {counted(len(runs), 'run')} in the bundle, {joined(parts)}." if parts else ""


@functools.cache
def _runs() -> Mapping[str, Sequence[Record]]:
    """Return registered name → the runs in the bundle."""
    found: dict[str, list[Record]] = {}
    for benchmarks in suites().values():
        for runs in (runs for benchmark in benchmarks for runs in benchmark.runs.values()):
            found.setdefault(about(runs[0].run.get("method")).name, []).extend(runs)
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
