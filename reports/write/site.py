"""The front page over all suites: what was compared, on what, and the answer of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.verdicts import KINDS, Kind, Summary
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.write.content import Content
from bnnbench.reports.write.page import front
from bnnbench.reports.write.part import Part

HOME = "../index.html"
"""The front page's address from a suite's page."""


@dataclass(frozen=True)
class Profile:
    """One profile of a suite in short."""

    name: str
    sentences: tuple[str, ...]
    line: str
    data: Mapping[str, Sequence[tuple[str, str]]]
    """origin → title and rows of the data sets"""
    conditions: Mapping[str, str]
    """test condition other than clean → origin of its data"""
    budget: str
    methods: tuple[str, ...]
    runs: int
    completed: int
    asked: int
    fit_seconds: float

    @property
    def sets(self) -> int:
        """How many data sets there are."""
        return sum(len(sets) for sets in self.data.values())

    @property
    def success(self) -> float:
        """The share of runs asked for that were completed."""
        return self.completed / max(self.asked, 1)


@dataclass(frozen=True)
class Entry:
    """One suite in short."""

    suite: str
    title: str
    profiles: tuple[Profile, ...]
    stand_ins: tuple[str, ...]
    damage: tuple[tuple[str, str], ...]
    """key and reason of what could not be read"""
    summaries: tuple[Summary, ...]
    """How many printed numbers agree, paper by paper."""
    stores: Mapping[str, int]
    copies: int
    disagreeing: tuple[str, ...]

    @property
    def address(self) -> str:
        """Where its page is, from the front page."""
        return f"{self.suite}/report.html"


@dataclass(frozen=True)
class Front:
    """All that the front page shows."""

    entries: tuple[Entry, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Address and title of pages beside those of suites."""

    @property
    def profiles(self) -> list[Profile]:
        """Those of all suites."""
        return [profile for entry in self.entries for profile in entry.profiles]

    @property
    def lede(self) -> str:
        """What was compared, in a sentence."""
        methods = {name for profile in self.profiles for name in profile.methods}
        sets = {title for p in self.profiles for named in p.data.values() for title, _ in named}
        runs = sum(profile.runs for profile in self.profiles)
        seconds = sum(profile.fit_seconds for profile in self.profiles)
        counts = ((len(self.entries), "suite"), (len(methods), "method"), (len(sets), "data set"))
        told = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts]
        return f"{', '.join(told)}: {runs:,} run{'s' * (runs != 1)}, {duration(seconds)} of fitting"

    @property
    def summaries(self) -> list[Summary]:
        """How many printed numbers agree with ours, paper by paper, over all suites."""
        found: dict[str, Counter[Kind]] = {}
        for entry in self.entries:
            for one in entry.summaries:
                found.setdefault(one.paper, Counter()).update(one.counts)
        return [Summary(p, {kind: found[p][kind] for kind in KINDS}) for p in sorted(found)]

    @property
    def stores(self) -> dict[str, int]:
        """Store → runs taken from it, where several were merged."""
        found: dict[str, int] = {}
        for entry in self.entries:
            for name, runs in entry.stores.items():
                found[name] = found.get(name, 0) + runs
        return found


def entry(content: Content) -> Entry:
    """Return a suite in short."""
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
        part.answer.line,
        {origin: [(f.title, f.rows) for f in sets] for origin, sets in part.by_origin.items()},
        part.other_conditions,
        part.budget,
        part.methods,
        len(part.records),
        part.completed,
        asked,
        part.fit_seconds,
    )


def front_page(entries: Sequence[Entry], links: Sequence[tuple[str, str]] = ()) -> str:
    """Return the front page of a site, with links to other pages by address and title."""
    return front(Front(tuple(entries), tuple(links)))
