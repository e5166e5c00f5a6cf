"""Everything a page shows, computed once; the template only lays it out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reports import labels
from reports.answers import Answer, answer
from reports.benchmarks import Benchmark, benchmarks
from reports.coverage import Covered, covered
from reports.coverage_table import coverage_table
from reports.facts import (
    DataFacts,
    Failure,
    Origin,
    data_facts,
    failures,
    networks,
    origins,
    settings,
)
from reports.families import FAMILIES, family_of
from reports.few_samples import Counted, counted, divergence_table, equal_table, other_tables
from reports.figures import ranks as ranks_figure
from reports.figures.canvas import Drawing
from reports.gallery import Gallery, galleries
from reports.layers import Layered, layer_table, layered
from reports.learning import learning_tables
from reports.load import Damage, Results
from reports.measures import main_metrics
from reports.numbers import duration
from reports.palette import Style, method_order, styles
from reports.ranks import Ranks, ranks
from reports.reproduction import Comparison, Reproduction, reproductions
from reports.sizes import Family, part_tables, size_tables, sized_families
from reports.steps import step_tables
from reports.table import Table, condition_table, diagnostics_table, overview
from reports.verdicts import (
    Declaration,
    Judgement,
    Summary,
    clauses,
    declarations,
    judgements,
    summaries,
)
from suites.engine.means import with_means
from suites.engine.record import Record

OVERVIEWS = (
    *("wasserstein2", "kl_from_reference"),
    *("accuracy", "nll", "rmse", "log_likelihood", "fit_seconds"),
)
"""Columns shown for all data sets side by side where there are several."""


@dataclass(frozen=True)
class Section:
    """One data set: a table per condition, the metrics folded away, the fits' diagnostics."""

    benchmark: Benchmark
    tables: tuple[Table, ...]
    minor: tuple[Table, ...]
    diagnostics: Table
    sized: tuple[tuple[Family, tuple[Table, ...]], ...] = ()
    """Families of conditions that differ in size alone, with a table for each metric."""
    minor_by_size: tuple[tuple[str, Table], ...] = ()
    """Condition and table of the metrics folded away, of the families' conditions."""
    parts: tuple[tuple[Family, tuple[Table, ...]], ...] = ()
    """Families that a mean stands for, with their tables."""
    part_tables: tuple[Table, ...] = ()
    """Of these side by side."""

    @property
    def shown(self) -> tuple[Table, ...]:
        """The tables that have columns."""
        return tuple(table for table in self.tables if table.columns)

    @property
    def families(self) -> tuple[tuple[Family, tuple[Table, ...]], ...]:
        """All families with their tables."""
        return (*self.sized, *self.parts)

    @property
    def named_tables(self) -> list[tuple[str, Table]]:
        """Condition and table, without empty tables and without the families' conditions."""
        in_families = {c for family, _ in self.families for c in family.sizes}
        in_families -= {self.benchmark.main}
        return [(c, t) for c, t in self._with_conditions if c not in in_families]

    @property
    def tables_by_size(self) -> list[tuple[str, Table]]:
        """Condition and tables of the families' conditions, those of minor metrics too.

        But for the parts of a mean, of which a page would have a hundred.
        """
        shown = {condition for condition, _ in self.named_tables}
        shown |= {condition for family, _ in self.parts for condition in family.sizes}
        found = [(c, t) for c, t in self._with_conditions if c not in shown]
        return found + list(self.minor_by_size)

    @property
    def _with_conditions(self) -> list[tuple[str, Table]]:
        conditions = self.benchmark.conditions
        return [(c, t) for c, t in zip(conditions, self.tables, strict=False) if t.columns]


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


@dataclass(frozen=True)
class Content:
    """All that is known of one suite."""

    suite: str
    parts: tuple[Part, ...]
    styles: Mapping[str, Style]
    damage: tuple[Damage, ...]
    superseded: int
    failures: Sequence[Failure]
    origins: Sequence[Origin]
    results: Results

    @cached_property
    def stores(self) -> Mapping[str, int]:
        """Store → how many runs were taken from it, where several were merged."""
        places = self.results.places
        return dict(sorted(Counter(places[r.key] for r in self.results.records if places).items()))

    @cached_property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """All benchmarks, in the order of the page."""
        return tuple(section.benchmark for part in self.parts for section in part.sections)

    @cached_property
    def places_of(self) -> Mapping[tuple[str, ...], int]:
        """Identity of a benchmark → its place among all."""
        return {benchmark.identity: i for i, benchmark in enumerate(self.benchmarks)}

    @property
    def has_details(self) -> bool:
        """Whether there are tables of single corruptions or sizes."""
        sections = (section for part in self.parts for section in part.sections)
        return any(section.parts or section.tables_by_size for section in sections)

    @cached_property
    def families(self) -> Mapping[str, str]:
        """Method → family, in the order of the families."""
        found = {
            method: family_of(runs[0].run.get("method"))
            for benchmark in self.benchmarks
            for method, runs in benchmark.runs.items()
        }
        return dict(sorted(found.items(), key=lambda item: FAMILIES.index(item[1])))

    @property
    def reproductions(self) -> list[Reproduction]:
        """The printed scores of all profiles."""
        return [found for part in self.parts for found in part.reproductions]

    @cached_property
    def judged(self) -> Mapping[Comparison, Judgement]:
        """What may be said of every printed number beside ours."""
        return judgements(self.reproductions)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """How many printed numbers agree, paper by paper."""
        return summaries(self.judged.values())

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """How the papers came to their numbers, and we to ours."""
        return declarations(self.reproductions)

    @property
    def title(self) -> str:
        """The suite's name for people."""
        return labels.suite(self.suite)

    @property
    def lede(self) -> str:
        """What was compared, in a sentence."""
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
        """Data sets and conditions that stand-ins took the place of."""
        found: dict[str, None] = {}
        for part in self.parts:
            for facts in part.facts:
                if facts.origin == "stand-in":
                    found[facts.title] = None
                odd = [c for c, origin in facts.conditions.items() if origin == "stand-in"]
                if facts.origin != "stand-in":
                    found |= dict.fromkeys(f"{facts.title}: {c}" for c in odd)
        return list(found)

    @property
    def tables(self) -> list[tuple[str, Table]]:
        """Profile and table, in the order of the page."""
        return [(part.profile, table) for part in self.parts for table in part.tables]


def content(results: Results) -> Content:
    """Return what the page of a suite shows, from its records and predictions."""
    found = benchmarks(map(with_means, results.records))
    arms = {label: arm for b in found for label, arm in b.arms.items()}
    looks = styles((method for b in found for method in b.runs), arms)
    profiles = dict.fromkeys(b.profile for b in found)
    damage = list(results.damage)
    parts = []
    for i, profile in enumerate(profiles):
        mine = [b for b in found if b.profile == profile]
        part, missing = _part(results, profile, mine, looks, f"p{i}")
        parts.append(part)
        damage += missing
    return Content(
        results.suite,
        tuple(parts),
        looks,
        tuple(damage),
        results.superseded,
        failures(results.records),
        origins(results.records),
        results,
    )


def _part(
    results: Results,
    profile: str,
    found: Sequence[Benchmark],
    looks: Mapping[str, Style],
    name: str,
) -> tuple[Part, Sequence[Damage]]:
    methods = tuple(sorted({m for b in found for m in b.runs}, key=method_order))
    sections = tuple(_section(benchmark, methods) for benchmark in found)
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


def _section(benchmark: Benchmark, methods: Sequence[str]) -> Section:
    conditions = benchmark.conditions or ("clean",)
    sized = tuple((f, tuple(size_tables(f, methods))) for f in sized_families(benchmark))
    in_families = {c for family, _ in sized for c in family.sizes} - {benchmark.main}
    in_parts = {c for family, _ in sized if family.is_part for c in family.sizes}
    in_parts -= {benchmark.main}
    parts = tuple((family, tables) for family, tables in sized if family.is_part)
    minor = {
        c: condition_table(benchmark, c, methods, minor=True)
        for c in conditions
        if c not in in_parts
    }
    minor = {c: table for c, table in minor.items() if table.columns}
    return Section(
        benchmark,
        tuple(condition_table(benchmark, c, methods) for c in conditions),
        tuple(table for c, table in minor.items() if c not in in_families),
        diagnostics_table(benchmark, methods),
        tuple((family, tables) for family, tables in sized if not family.is_part),
        tuple((c, table) for c, table in minor.items() if c in in_families),
        parts,
        tuple(part_tables([family for family, _ in parts], methods)),
    )


def _overviews(
    found: Sequence[Benchmark], clean: Sequence[Table], methods: Sequence[str]
) -> tuple[Table, ...]:
    if len(found) < 2:
        return ()
    names = {column.name for table in clean for column in table.columns}
    return tuple(overview(n, found, clean, methods) for n in OVERVIEWS if n in names)
