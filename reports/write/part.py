"""One profile on a page: its data sets, their figures and the printed numbers beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.figures import ranks as ranks_figure
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.answers import Answer, answer
from bnnbench.reports.judge.measures import main_metrics
from bnnbench.reports.judge.ranks import Ranks, ranks
from bnnbench.reports.judge.table import Table
from bnnbench.reports.papers.reproduction import Reproduction, reproductions
from bnnbench.reports.papers.verdicts import clauses, judgements
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.facts import DataFacts, data_facts, networks, settings
from bnnbench.reports.read.load import Damage, Results
from bnnbench.reports.sections.condition_tables import overview
from bnnbench.reports.sections.coverage import Covered, covered
from bnnbench.reports.sections.coverage_table import coverage_table
from bnnbench.reports.sections.few_samples import (
    Counted,
    counted,
    divergence_table,
    equal_table,
    other_tables,
)
from bnnbench.reports.sections.galleries import galleries
from bnnbench.reports.sections.gallery import Gallery
from bnnbench.reports.sections.layers import Layered, layer_table, layered
from bnnbench.reports.sections.learning import learning_tables
from bnnbench.reports.sections.steps import step_tables
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.palette import Style, method_order
from bnnbench.reports.write.section import Section, section_of
from bnnbench.suites.engine.store.record import Record

OVERVIEWS = (
    *("wasserstein2", "kl_from_reference"),
    *("accuracy", "nll", "rmse", "log_likelihood", "fit_seconds"),
)
"""Columns shown for all data sets side by side where there are several."""


@dataclass(frozen=True)
class Part:
    """One profile: its data sets, their figures and the printed numbers to go with them."""

    profile: str
    anchor: str
    methods: tuple[str, ...]
    records: tuple[Record, ...]
    overviews: tuple[Table, ...]
    learning: tuple[Table, ...]
    """Of active learning, what the tables of the last round do not say."""
    steps: tuple[Table, ...]
    """Where methods differ in the serial steps of their fits."""
    covered: tuple[Covered, ...]
    """Coverage far outside, where data sets are tested there."""
    layered: tuple[Layered, ...]
    """Errors of propagated moments behind every layer, where they were measured."""
    counted: tuple[Counted, ...]
    """Errors of few draws beside an exact predictive, where they were measured."""
    sections: tuple[Section, ...]
    galleries: tuple[Gallery, ...]
    without_predictions: int
    reproductions: Sequence[Reproduction]
    facts: tuple[DataFacts, ...]
    settings: Mapping[str, Mapping[str, str]]
    networks: Mapping[str, Sequence[str]]
    answer: Answer
    ranked: tuple[tuple[Ranks, Drawing], ...]
    """Methods ranked over data sets by the main metrics, each with its diagram."""

    @property
    def tables(self) -> list[Table]:
        """Every table, in the order of the page."""
        found = [*self.overviews, *self.learning, *self.steps]
        found += map(coverage_table, self.covered)
        found += map(layer_table, self.layered)
        for one in self.counted:
            found += [divergence_table(one), *filter(None, [equal_table(one)]), *other_tables(one)]
        for section in self.sections:
            found += [table for _, tables in section.families for table in tables]
            found += section.part_tables
            found += [*section.shown, *section.minor]
            found += [table for _, table in section.minor_by_size]
        return found

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
        for section in self.sections:
            benchmark = section.benchmark
            for family, _ in section.sized:
                found.setdefault(family.words, benchmark.origin_of(family.last))
            in_families = {c for family, _ in section.families for c in family.sizes}
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
    sections = tuple(section_of(benchmark, methods) for benchmark in found)
    clean = [section.tables[0] for section in sections]
    far, layers = tuple(covered(results.store, found)), tuple(layered(found))
    draws = tuple(counted(found))
    drawn = galleries(results.store, found, clean, (far, layers, draws), looks, name)
    printed = reproductions(found)
    part = Part(
        profile,
        name,
        methods,
        tuple(record for benchmark in found for record in benchmark.records),
        _overviews(found, clean, methods),
        tuple(learning_tables(found, methods)),
        tuple(step_tables(found, methods)),
        far,
        layers,
        draws,
        sections,
        drawn.galleries,
        drawn.absent,
        printed,
        tuple(data_facts(benchmark) for benchmark in found),
        settings(found),
        networks(found),
        answer(found, clauses(tuple(judgements(printed).values()))),
        tuple(_ranked(found, looks, name)),
    )
    return part, drawn.damage


def _ranked(
    found: Sequence[Benchmark], looks: Mapping[str, Style], name: str
) -> Iterator[tuple[Ranks, Drawing]]:
    for k, metric in enumerate(main_metrics(found)):
        if ranking := ranks(found, metric):
            yield ranking, ranks_figure.draw(ranking, looks, f"{name}-ranks-{k}")


def _overviews(
    found: Sequence[Benchmark], clean: Sequence[Table], methods: Sequence[str]
) -> tuple[Table, ...]:
    if len(found) < 2:
        return ()
    names = {column.name for table in clean for column in table.columns}
    return tuple(overview(n, found, clean, methods) for n in OVERVIEWS if n in names)
