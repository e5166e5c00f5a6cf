"""The list of all suites: their methods, data sets and conclusions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.reports.pages.report.content import Content
from bnnbench.reports.pages.report.part import Part
from bnnbench.reports.papers.summaries import Summary, merged
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import counted

HOME = "../suites.html"
"""The address of the list of suites from a suite's page."""


@dataclass(frozen=True)
class Profile:
    """A summary of one profile of a suite."""

    name: str
    sentences: tuple[str, ...]
    data: Mapping[str, Sequence[tuple[str, str]]]
    """origin → title and rows of the data sets"""
    conditions: Mapping[str, str]
    """test condition other than clean → origin of its data"""
    replicates: str
    methods: tuple[str, ...]
    runs: int
    completed: int
    asked: int
    fit_seconds: float

    @property
    def counts(self) -> str:
        """A phrase with the numbers of methods, data sets and runs, and the time of all fits."""
        sets = sum(len(sets) for sets in self.data.values())
        runs = f"{self.completed:,} of {self.asked:,} runs completed"
        if self.completed == self.asked:
            runs = counted(self.completed, "run")
        parts = counted(len(self.methods), "method"), counted(sets, "data set"), runs
        return f"{', '.join(parts)}, {duration(self.fit_seconds)} of fitting"


@dataclass(frozen=True)
class Entry:
    """A summary of one suite."""

    suite: str
    title: str
    profiles: tuple[Profile, ...]
    stand_ins: tuple[str, ...]
    damage: tuple[tuple[str, str], ...]
    """Key and reason for each unreadable run."""
    summaries: tuple[Summary, ...]
    """The counts of verdicts on printed numbers, paper by paper."""
    stores: Mapping[str, int]
    copies: int
    disagreeing: tuple[str, ...]

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Entry":
        """Return the summary that `dataclasses.asdict` made plain, perhaps by way of JSON."""
        profiles = tuple(Profile(**profile) for profile in plain["profiles"])
        summaries = tuple(Summary(**summary) for summary in plain["summaries"])
        return cls(**{**plain, "profiles": profiles, "summaries": summaries})

    @property
    def address(self) -> str:
        """The address of its page, relative to the front page."""
        return f"{self.suite}/report.html"


@dataclass(frozen=True)
class Front:
    """The content of the list of suites."""

    entries: tuple[Entry, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Address and title of pages other than suite pages."""

    @property
    def profiles(self) -> list[Profile]:
        """The profiles of all suites."""
        return [profile for entry in self.entries for profile in entry.profiles]

    @property
    def lede(self) -> str:
        """A phrase that sums up suites, methods, data sets and runs."""
        methods = {name for profile in self.profiles for name in profile.methods}
        sets = {title for p in self.profiles for named in p.data.values() for title, _ in named}
        runs = sum(profile.runs for profile in self.profiles)
        seconds = sum(profile.fit_seconds for profile in self.profiles)
        counts = ((len(self.entries), "suite"), (len(methods), "method"), (len(sets), "data set"))
        parts = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts]
        return (
            f"{', '.join(parts)}: {runs:,} run{'s' * (runs != 1)}, {duration(seconds)} of fitting"
        )

    @property
    def summaries(self) -> list[Summary]:
        """The counts of verdicts on printed numbers over all suites, paper by paper."""
        return merged(summary for entry in self.entries for summary in entry.summaries)

    @property
    def stores(self) -> dict[str, int]:
        """Store → the number of runs taken from it, if several were merged."""
        runs_by_store: dict[str, int] = {}
        for entry in self.entries:
            for name, runs in entry.stores.items():
                runs_by_store[name] = runs_by_store.get(name, 0) + runs
        return runs_by_store


def entry(content: Content) -> Entry:
    """Return the summary of a suite."""
    return Entry(
        content.suite,
        content.title,
        tuple(map(_profile, content.parts)),
        tuple(content.stand_ins),
        tuple((damage.key, damage.reason) for damage in content.damage),
        content.summaries,
        content.stores,
        content.results.copies,
        content.results.disagreeing,
    )


def _profile(part: Part) -> Profile:
    asked = 0
    for section in part.datasets:
        records = section.benchmark.records
        asked += len(section.benchmark.runs) * len({(r.fold, r.seed) for r in records})
    return Profile(
        part.profile,
        part.answer.sentences,
        {origin: [(f.title, f.rows) for f in sets] for origin, sets in part.by_origin.items()},
        part.other_conditions,
        part.replicates,
        part.methods,
        len(part.records),
        part.completed,
        asked,
        part.fit_seconds,
    )
