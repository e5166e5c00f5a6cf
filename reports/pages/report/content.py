"""The content of a page, computed once; the templates only lay it out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bnnbench.methods.card import FAMILIES
from bnnbench.metrics.base import NO_MARGINS, Margins
from bnnbench.reports.judge.table import Table
from bnnbench.reports.pages.report.part import Part, part_of
from bnnbench.reports.pages.report.twins import Twins, twins_of
from bnnbench.reports.papers.reproduction import Comparison, Reproduction
from bnnbench.reports.papers.summaries import Summary, deciding, summaries
from bnnbench.reports.papers.verdicts import Declaration, Judgement, declarations, judgements
from bnnbench.reports.read.benchmarks import Benchmark, benchmarks
from bnnbench.reports.read.facts import Failure, Origin, failures, origins
from bnnbench.reports.read.load import Damage, Results
from bnnbench.reports.read.means import with_means
from bnnbench.reports.read.predictions.point_scores import KeptScores
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.palette import Style, styles


@dataclass(frozen=True)
class Content:
    """All content of the pages of one suite."""

    suite: str
    parts: tuple[Part, ...]
    styles: Mapping[str, Style]
    damage: tuple[Damage, ...]
    superseded: int
    failures: Sequence[Failure]
    origins: Sequence[Origin]
    results: Results
    whole: "Content | None" = None
    """The content of all profiles, if this is the content of one."""

    def only(self, part: Part) -> "Content":
        """Return the content of one profile, without content about the whole store."""
        return replace(
            self,
            whole=self,
            parts=(part,),
            damage=(),
            superseded=0,
            failures=failures(part.records),
            origins=origins(part.records),
            results=replace(self.results, records=part.records, older=(), disagreeing=()),
        )

    @cached_property
    def stores(self) -> Mapping[str, int]:
        """Store → the number of runs taken from it, if several were merged."""
        places = self.results.places
        return dict(sorted(Counter(places[r.key] for r in self.results.records if places).items()))

    @cached_property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """All benchmarks, in the order of the page."""
        return tuple(dataset.benchmark for part in self.parts for dataset in part.datasets)

    @cached_property
    def twins(self) -> Twins:
        """The deduplicated counterparts of data sets whose test rows have twins, in any profile."""
        if self.whole:
            return self.whole.twins
        return twins_of(self.benchmarks, [table for _, table in self.tables])

    @cached_property
    def places_of(self) -> Mapping[tuple[str, ...], int]:
        """Identity of a benchmark → its index in `benchmarks`."""
        return {benchmark.identity: i for i, benchmark in enumerate(self.benchmarks)}

    @cached_property
    def families(self) -> Mapping[str, str]:
        """Method → family, in the order of the families."""
        by_method = {m: f for benchmark in self.benchmarks for m, f in benchmark.families.items()}
        return dict(sorted(by_method.items(), key=lambda item: FAMILIES.index(item[1])))

    @property
    def reproductions(self) -> list[Reproduction]:
        """The printed scores of all profiles."""
        return [reproduction for part in self.parts for reproduction in part.reproductions]

    @cached_property
    def judged(self) -> Mapping[Comparison, Judgement]:
        """The verdict on every comparison of a printed number with ours."""
        return judgements(self.reproductions)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The counts of verdicts on printed numbers, paper by paper; one profile decides each."""
        return summaries(deciding(self.judged.values()))

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The protocols of the papers, together with our own."""
        return declarations(self.reproductions)

    @property
    def title(self) -> str:
        """The suite's title."""
        return labels.suite(self.suite)

    @property
    def lede(self) -> str:
        """A phrase that sums up methods, data sets and runs."""
        methods = {m for part in self.parts for m in part.methods}
        datasets = list(dict.fromkeys(f.title for part in self.parts for f in part.facts))
        on = datasets[0] if len(datasets) == 1 else f"{len(datasets)} data sets"
        runs = sum(len(part.records) for part in self.parts)
        took = duration(sum(part.fit_seconds for part in self.parts))
        plural = "s" * (len(methods) != 1), "s" * (runs != 1)
        return (
            f"{len(methods)} method{plural[0]} on {on}: {runs:,} run{plural[1]}, {took} of fitting"
        )

    @property
    def stand_ins(self) -> list[str]:
        """Data sets that were replaced by stand-in data."""
        facts = (facts for part in self.parts for facts in part.facts)
        return list(dict.fromkeys(f.title for f in facts if f.origin == "stand-in"))

    @property
    def stand_in_conditions(self) -> list[str]:
        """Conditions of other data sets whose test data were replaced by stand-in data."""
        titles: dict[str, None] = {}
        for facts in (facts for part in self.parts for facts in part.facts):
            odd = [c for c, origin in facts.conditions.items() if origin == "stand-in"]
            if facts.origin != "stand-in":
                titles |= dict.fromkeys(f"{facts.title}: {c}" for c in odd)
        return list(titles)

    @property
    def tables(self) -> list[tuple[str, Table]]:
        """Profile and table, in the order of the page."""
        return [(part.profile, table) for part in self.parts for table in part.tables]


def judged_benchmarks(
    results: Results, margins: Margins = NO_MARGINS, with_yardsticks: bool = False
) -> list[Benchmark]:
    """Return the benchmarks of a suite, with their scores at test points and these margins."""
    return [
        replace(
            b,
            point_scores=KeptScores(results.store, b.records, b.main),
            margins=margins,
            with_yardsticks=with_yardsticks,
        )
        for b in benchmarks(map(with_means, results.records))
    ]


def content(
    results: Results, margins: Margins = NO_MARGINS, with_yardsticks: bool = False
) -> Content:
    """Return the content of the pages of a suite, from its records and predictions.

    `margins` replace the metrics' own. Methods that are no networks take the headline only
    `with_yardsticks`.
    """
    all_benchmarks = judged_benchmarks(results, margins, with_yardsticks)
    arms = {label: arm for b in all_benchmarks for label, arm in b.arms.items()}
    method_styles = styles((method for b in all_benchmarks for method in b.runs), arms)
    profiles = dict.fromkeys(b.profile for b in all_benchmarks)
    damage = list(results.damage)
    parts = []
    for i, profile in enumerate(profiles):
        in_profile = [b for b in all_benchmarks if b.profile == profile]
        part, missing = part_of(results, profile, in_profile, method_styles, f"p{i}")
        parts.append(part)
        damage += missing
    return Content(
        results.suite,
        tuple(parts),
        method_styles,
        tuple(damage),
        results.superseded,
        failures(results.records),
        origins(results.records),
        results,
    )
