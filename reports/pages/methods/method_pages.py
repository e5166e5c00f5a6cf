"""The page of a method: its description, wins, failures, and printed numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from bnnbench.engine.method_settings.search_spaces import searched
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.repetitions import Rerun
from bnnbench.methods.card import FAMILIES, PROBLEMS, card_of
from bnnbench.reports.figures.forests import Forest, of_scores
from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import page
from bnnbench.reports.pages.methods.about import About, about
from bnnbench.reports.pages.methods.failures import Entry, Verdicts, failures_of
from bnnbench.reports.pages.methods.places import figure_of, good_at, standings_of
from bnnbench.reports.pages.methods.printed import printed_and_ours
from bnnbench.reports.pages.methods.repeated_runs import RepeatedRun, repeated_runs_of
from bnnbench.reports.pages.methods.snippets import snippet
from bnnbench.reports.pages.methods.strips import MOST_STRIPS, WIDTH, chapter_of
from bnnbench.reports.pages.site.overview.overview import Overview
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.papers.coverage import PrintedTable
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.code_states import CodeState, in_words
from bnnbench.reports.read.devices import (
    comparable_times,
    mean_fit_seconds,
)
from bnnbench.reports.style import formulas, labels
from bnnbench.reports.style.descriptions import call
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import joined
from bnnbench.suites import SUITES

MOST_ROWS = 12
"""Maximum number of methods in the figure of a method that no question of the overview has."""


@dataclass(frozen=True)
class Site:
    """The runs, verdicts and printed numbers that the pages of all methods share."""

    suites: Mapping[str, Sequence[Benchmark]]
    tasks: Sequence[Task]
    run_pages: RunPages
    verdicts: Verdicts
    printed: Sequence[PrintedTable] = ()
    examples: RunPages = field(default_factory=dict)
    repeated: Mapping[str, Rerun] = field(default_factory=dict)
    """Key → re-run outcome."""
    code_states: Mapping[str, CodeState] = field(default_factory=dict)
    """Key → whether the run's code means the same as today's."""
    overview: Overview | None = None
    """The places of methods by question; None without any question."""


@dataclass(frozen=True)
class Use:
    """The runs of a method in a profile."""

    suite: str
    profile: str
    settings: str
    same_as: str
    """The earlier suite and profile with these settings; "" if there is none."""
    datasets: Sequence[tuple[str, str, str]]
    """Title of a data set, the page of its runs, and the page of its examples or ""."""
    completed: int
    attempted: int
    seconds: str
    repeated: Sequence[RepeatedRun]
    """Its runs that were re-run with later code."""
    code: str
    """State of the runs' code compared with today's, as text."""


def method_page(
    method: str,
    address: str,
    site: Site,
    common: dict[str, Any],
    neighbours: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page of a method; `neighbours` are its family's methods, with their pages.

    The neighbours include the method itself, and are ordered as in the list of methods.
    """
    entries = entries_of(method, site.suites)
    shown = _first_with_settings(entries, site.tasks)
    description = _description(shown)
    known = about(description)
    chapters = [chapter_of(task, method) for task in site.tasks if method in task.families]
    chapters = [chapter for chapter in chapters if chapter.strips]
    names = [name for name, _ in neighbours]
    slug = PurePosixPath(address).stem
    uses = uses_of(method, slug, site)
    place = names.index(method) if method in names else -1
    family = family_of(description)
    standings = standings_of(site.overview, [method], family) if site.overview else []
    return page(
        *("method.html", address, f"{method} · bnnbench", "Methods", common),
        method=method,
        slug=slug,
        family=family,
        figure=figure_of(standings, family) or _scores(entries, site.verdicts),
        good_at=good_at(standings),
        about=known,
        around=around(known),
        takes=joined([PROBLEMS[kind] for kind in card_of(known.name).problems]),
        space=searched(known.name) if known.name else None,
        code=snippet(description),
        settings_kept=_has_settings(description),
        shown=shown,
        can_be_run=bool(known.name) and shown.suite in SUITES,
        previous=neighbours[place - 1] if place > 0 else None,
        next=neighbours[place + 1] if 0 <= place < len(names) - 1 else None,
        chapters=chapters,
        sets={
            s.dataset: s.title
            for c in chapters
            for of in c.strips.values()
            for s in of
            if s.dataset
        },
        scores=list(dict.fromkeys(title for chapter in chapters for title in chapter.strips)),
        failures=failures_of(entries, site.verdicts),
        printed=printed_and_ours(method, site.printed),
        run_page=lambda entry: site.run_pages.get((entry.suite, entry.benchmark.identity), ""),
        uses=uses,
        repeated=any(use.repeated for use in uses),
        width=WIDTH,
        most_strips=MOST_STRIPS,
        formulas=formulas,
    )


def _scores(entries: Sequence[Entry], verdicts: Verdicts) -> Forest | None:
    """Return the scores of the method beside the best others, where it was run first."""
    drawn = (
        of_scores(verdict, entry.title, MOST_ROWS, (entry.method,))
        for entry in entries
        for verdict in verdicts[entry.suite, entry.benchmark.identity]
        if entry.method in verdict.cells
    )
    return next((forest for forest in drawn if forest), None)


def entries_of(method: str, suites: Mapping[str, Sequence[Benchmark]]) -> list[Entry]:
    """Return the runs of a method, benchmark by benchmark."""
    return [Entry(suite, b, method) for suite, bs in suites.items() for b in bs if method in b.runs]


def around(known: About) -> str:
    """Return a sentence on a method's wrappers; "" if it has none."""
    clauses = [card_of(name).around for name in known.wrapped]
    return labels.sentence(f"{joined(clauses)}.") if clauses else ""


def uses_of(method: str, slug: str, site: Site) -> list[Use]:
    """Return the runs of a method, profile by profile; `slug` is its name in addresses."""
    uses: list[Use] = []
    earlier: dict[str, str] = {}
    for suite, benchmarks in site.suites.items():
        for profile in dict.fromkeys(b.profile for b in benchmarks):
            within = [b for b in benchmarks if b.profile == profile and method in b.runs]
            runs = [run for b in within for run in b.runs[method]]
            if not runs:
                continue
            description = runs[0].run.get("method")
            settings = call(description) if _has_settings(description) else ""
            uses.append(
                Use(
                    suite,
                    profile,
                    settings,
                    earlier.get(settings, ""),
                    [
                        (b.title, site.run_pages[place], site.examples.get(place, ""))
                        for b in within
                        if (place := (suite, b.identity))
                    ],
                    sum(run.outcome.status == "completed" for run in runs),
                    len(runs),
                    _time_of(runs),
                    repeated_runs_of(suite, within, method, slug, site.run_pages, site.repeated),
                    in_words(site.code_states.get(run.key, "unknown") for run in runs),
                )
            )
            if settings:
                earlier.setdefault(settings, f"{suite}, {profile}")
    return uses


def _time_of(runs: Sequence[Record]) -> str:
    """Return the mean fit time: processor time, or wall time, which is then stated."""
    of_processors, apart = comparable_times(runs)
    seconds = mean_fit_seconds(runs, of_processors, apart)
    return f"{duration(seconds)}{'' if of_processors else ' (wall time)'}" if seconds else ""


def by_family(
    families: Mapping[str, str], pages: Mapping[str, str]
) -> dict[str, list[tuple[str, str]]]:
    """Return family → its methods with their pages, in the order of pages."""
    listings = {
        family: [(m, pages[m]) for m, of_method in families.items() if of_method == family]
        for family in FAMILIES
    }
    return {family: listed for family, listed in listings.items() if listed}


def _first_with_settings(entries: Sequence[Entry], tasks: Sequence[Task]) -> Entry:
    """Return the runs whose settings a page shows: from the first suite on the board, if possible.

    A bundle may store the settings of only some profiles, and some profiles search for them.
    """
    order = list(dict.fromkeys(c.suite for task in tasks for c in task.columns))
    place = {suite: -number for number, suite in enumerate(order)}

    def preference(entry: Entry) -> tuple[bool, bool, int]:
        described = _description(entry)
        whole = _has_settings(described), not about(described).wrapped
        return *whole, place.get(entry.suite, -len(order))

    return max(entries, key=preference)


def _description(entry: Entry) -> object:
    return entry.runs[0].run.get("method")


def _has_settings(description: object) -> bool:
    """Return whether a record stores settings besides the name of the method."""
    return isinstance(description, Mapping) and len(description) > 1
