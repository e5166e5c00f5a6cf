"""A page's chapter on one profile: its data sets, figures and published numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.records.record import Record
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.answers import Answer, answer
from bnnbench.reports.judge.table import Table
from bnnbench.reports.papers.reproduction import Reproduction, reproductions
from bnnbench.reports.papers.summaries import clauses
from bnnbench.reports.papers.verdicts import judgements
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.facts import DataFacts, data_facts, networks, settings
from bnnbench.reports.read.load import Damage, Results
from bnnbench.reports.sections import sections_of
from bnnbench.reports.sections.base import Gallery, Material, Section
from bnnbench.reports.sections.dataset_tables import DatasetTables, dataset_tables
from bnnbench.reports.sections.opening import opening
from bnnbench.reports.sections.overviews import overviews
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.palette import Style, in_order
from bnnbench.reports.style.words import joined


@dataclass(frozen=True)
class Part:
    """One profile: its data sets, their figures and the published numbers."""

    profile: str
    anchor: str
    methods: tuple[str, ...]
    records: tuple[Record, ...]
    sections: tuple[Section, ...]
    """Sections over all data sets, each with its tables and figures."""
    datasets: tuple[DatasetTables, ...]
    overview_first: bool
    """True if tables over all data sets precede those of each data set."""
    reproductions: Sequence[Reproduction]
    facts: tuple[DataFacts, ...]
    settings: Mapping[str, Mapping[str, str]]
    networks: Mapping[str, Sequence[str]]
    answer: Answer
    opening: Drawing | None
    """The figure beside the answer."""

    @property
    def tables(self) -> list[Table]:
        """Every table, in the order of the page."""
        listed = [table for section in self.sections for table in section.tables]
        for dataset in self.datasets:
            listed += [table for _, tables in dataset.families for table in tables]
            listed += dataset.part_tables
            listed += [*dataset.filled, *dataset.minor]
            listed += [table for _, table in dataset.minor_by_size]
        return listed

    @property
    def galleries(self) -> tuple[Gallery, ...]:
        """The figures of all sections, in the order of the page."""
        return tuple(gallery for section in self.sections for gallery in section.galleries)

    @property
    def without_predictions(self) -> int:
        """The number of completed runs without predictions in the store."""
        return sum(section.absent for section in self.sections)

    @property
    def learns_actively(self) -> bool:
        """True for active learning, in which repeats draw a few rows from a pool."""
        return any(dataset.benchmark.rounds for dataset in self.datasets)

    @property
    def short_facts(self) -> list[str]:
        """The names of facts that are short enough for a table."""
        names = dict.fromkeys(name for facts in self.facts for name in facts.facts)
        return [n for n in names if any(n in f.facts and n not in f.long for f in self.facts)]

    @property
    def repeats_are_known(self) -> bool:
        """True if all records count repeated training rows; older records do not."""
        return all("train_repeats" in record.circumstances.facts for record in self.records)

    @property
    def by_origin(self) -> dict[str, list[DataFacts]]:
        """Origin → the data sets of this origin."""
        sets: dict[str, list[DataFacts]] = {}
        for facts in self.facts:
            sets.setdefault(facts.origin, []).append(facts)
        return sets

    @property
    def other_conditions(self) -> dict[str, str]:
        """Title of a condition other than clean → the least official origin of its data."""
        origins: dict[str, str] = {}
        for dataset in self.datasets:
            benchmark = dataset.benchmark
            for family, _ in dataset.sized:
                origins.setdefault(family.description, benchmark.origin_of(family.last))
            in_families = {c for family, _ in dataset.families for c in family.sizes}
            for condition in benchmark.conditions:
                if condition != benchmark.main and condition not in in_families:
                    title = labels.sentence(benchmark.condition(condition))
                    origins.setdefault(title, benchmark.origin_of(condition))
        return origins

    @property
    def replicates(self) -> str:
        """The largest numbers of folds and seeds as text."""
        folds = len({r.fold for r in self.records})
        seeds = len({r.seed for r in self.records})
        return f"{folds} fold{'s' * (folds > 1)}, {seeds} seed{'s' * (seeds > 1)}"

    @property
    def completed(self) -> int:
        """The number of completed runs."""
        return sum(r.outcome.status == "completed" for r in self.records)

    @property
    def budget(self) -> str:
        """The numbers of methods, folds, seeds and runs, and the time, as text."""
        return (
            f"{len(self.methods)} method{'s' * (len(self.methods) != 1)}, {self.replicates}, "
            f"{len(self.records):,} run{'s' * (len(self.records) != 1)}; "
            f"{duration(self.fit_seconds)} of fitting"
        )

    @property
    def fit_seconds(self) -> float:
        """The total time of all fits; fits shared by several runs count once."""
        keys = {r.key for r in self.records}
        costs = [r.cost for r in self.records if r.cost]
        return sum(cost.fit_seconds for cost in costs if cost.fit_of not in keys)

    @property
    def shared_fits(self) -> list[str]:
        """Sentences on methods that predict with another method's fits."""
        methods = {r.key: r.method for r in self.records}
        sharing: dict[str, set[str]] = {}
        for record in self.records:
            if record.cost and record.cost.fit_of in methods:
                sharing.setdefault(methods[record.cost.fit_of], set()).add(record.method)
        return [_sharing(fitted, in_order(sharing[fitted])) for fitted in in_order(sharing)]

    @property
    def fitted_together(self) -> bool:
        """True if some runs were trained together."""
        return any(r.cost and r.cost.fitted_together > 1 for r in self.records)


def _sharing(fitted: str, methods: Sequence[str]) -> str:
    if len(methods) == 1:
        return f"{methods[0]} predicts with the fits of {fitted}, whose cost counts for both."
    return f"{joined(methods)} predict with the fits of {fitted}, whose cost counts for each."


def part_of(
    results: Results,
    profile: str,
    benchmarks: Sequence[Benchmark],
    styles: Mapping[str, Style],
    anchor: str,
) -> tuple[Part, Sequence[Damage]]:
    """Return the part of a profile, and the runs whose predictions are damaged."""
    arms = {label: arm for benchmark in benchmarks for label, arm in benchmark.arms.items()}
    methods = tuple(in_order({m for b in benchmarks for m in b.runs}, arms))
    material = Material(results.store, tuple(benchmarks), methods, styles, anchor)
    sections = tuple(sections_of(material))
    printed = reproductions(benchmarks)
    answered = answer(benchmarks, clauses(tuple(judgements(printed).values())))
    part = Part(
        profile,
        anchor,
        methods,
        tuple(record for benchmark in benchmarks for record in benchmark.records),
        sections,
        tuple(dataset_tables(benchmark, methods) for benchmark in benchmarks),
        bool(overviews(material)),
        printed,
        tuple(data_facts(benchmark) for benchmark in benchmarks),
        settings(benchmarks),
        networks(benchmarks),
        answered,
        opening(benchmarks, answered, styles, anchor),
    )
    return part, [damage for section in sections for damage in section.damage]
