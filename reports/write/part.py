"""One profile on a page: its data sets, their figures and the printed numbers beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.judge.answers import Answer, answer
from bnnbench.reports.judge.table import Table
from bnnbench.reports.papers.reproduction import Reproduction, reproductions
from bnnbench.reports.papers.verdicts import clauses, judgements
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.facts import DataFacts, data_facts, networks, settings
from bnnbench.reports.read.load import Damage, Results
from bnnbench.reports.sections import sections_of
from bnnbench.reports.sections.base import Gallery, Material, Section
from bnnbench.reports.sections.dataset_tables import DatasetTables, dataset_tables
from bnnbench.reports.sections.overviews import overviews
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.palette import Style, method_order
from bnnbench.suites.engine.store.record import Record


@dataclass(frozen=True)
class Part:
    """One profile: its data sets, their figures and the printed numbers to go with them."""

    profile: str
    anchor: str
    methods: tuple[str, ...]
    records: tuple[Record, ...]
    sections: tuple[Section, ...]
    """Sections over all data sets, each with its tables and figures."""
    datasets: tuple[DatasetTables, ...]
    overview_first: bool
    """Whether tables of all data sets stand before those of each."""
    reproductions: Sequence[Reproduction]
    facts: tuple[DataFacts, ...]
    settings: Mapping[str, Mapping[str, str]]
    networks: Mapping[str, Sequence[str]]
    answer: Answer

    @property
    def tables(self) -> list[Table]:
        """Every table, in the order of the page."""
        found = [table for section in self.sections for table in section.tables]
        for one in self.datasets:
            found += [table for _, tables in one.families for table in tables]
            found += one.part_tables
            found += [*one.shown, *one.minor]
            found += [table for _, table in one.minor_by_size]
        return found

    @property
    def galleries(self) -> tuple[Gallery, ...]:
        """The figures of all sections, in the order of the page."""
        return tuple(gallery for section in self.sections for gallery in section.galleries)

    @property
    def without_predictions(self) -> int:
        """How many completed runs have no predictions in the store."""
        return sum(section.absent for section in self.sections)

    @property
    def learns_actively(self) -> bool:
        """Whether repeats take few rows out of a pool."""
        return any(one.benchmark.rounds for one in self.datasets)

    @property
    def short_facts(self) -> list[str]:
        """The names of facts that fit into a table."""
        names = dict.fromkeys(name for facts in self.facts for name in facts.facts)
        return [n for n in names if any(n in f.facts and n not in f.long for f in self.facts)]

    @property
    def repeats_are_known(self) -> bool:
        """Whether all records tell how often training rows come twice, as older ones do not."""
        return all("train_repeats" in record.facts for record in self.records)

    @property
    def by_origin(self) -> dict[str, list[DataFacts]]:
        """Origin → data sets of it."""
        found: dict[str, list[DataFacts]] = {}
        for facts in self.facts:
            found.setdefault(facts.origin, []).append(facts)
        return found

    @property
    def other_conditions(self) -> dict[str, str]:
        """Test condition other than clean, in words → the least official origin of its data."""
        found: dict[str, str] = {}
        for one in self.datasets:
            benchmark = one.benchmark
            for family, _ in one.sized:
                found.setdefault(family.words, benchmark.origin_of(family.last))
            in_families = {c for family, _ in one.families for c in family.sizes}
            for condition in benchmark.conditions:
                if condition != benchmark.main and condition not in in_families:
                    words = labels.sentence(labels.condition(condition))
                    found.setdefault(words, benchmark.origin_of(condition))
        return found

    @property
    def replicates(self) -> str:
        """How many folds and seeds there are at most."""
        folds = len({r.fold for r in self.records})
        seeds = len({r.seed for r in self.records})
        return f"{folds} fold{'s' * (folds > 1)}, {seeds} seed{'s' * (seeds > 1)}"

    @property
    def completed(self) -> int:
        """How many runs were completed."""
        return sum(r.status == "completed" for r in self.records)

    @property
    def budget(self) -> str:
        """What was tried, in words."""
        return (
            f"{len(self.methods)} method{'s' * (len(self.methods) != 1)}, {self.replicates}, "
            f"{len(self.records):,} run{'s' * (len(self.records) != 1)}; "
            f"{duration(self.fit_seconds)} of fitting"
        )

    @property
    def fit_seconds(self) -> float:
        """What all fits took together."""
        return sum(r.cost.fit_seconds for r in self.records if r.cost)

    @property
    def fitted_together(self) -> bool:
        """Whether some runs were trained side by side."""
        return any(r.cost and r.cost.fitted_together > 1 for r in self.records)


def part_of(
    results: Results,
    profile: str,
    found: Sequence[Benchmark],
    looks: Mapping[str, Style],
    name: str,
) -> tuple[Part, Sequence[Damage]]:
    """Return all of a profile, and the runs whose predictions are damaged."""
    methods = tuple(sorted({m for b in found for m in b.runs}, key=method_order))
    material = Material(results.store, tuple(found), methods, looks, name)
    sections = tuple(sections_of(material))
    printed = reproductions(found)
    part = Part(
        profile,
        name,
        methods,
        tuple(record for benchmark in found for record in benchmark.records),
        sections,
        tuple(dataset_tables(benchmark, methods) for benchmark in found),
        bool(overviews(material)),
        printed,
        tuple(data_facts(benchmark) for benchmark in found),
        settings(found),
        networks(found),
        answer(found, clauses(tuple(judgements(printed).values()))),
    )
    return part, [damage for section in sections for damage in section.damage]
