"""Benchmarks: records that may be compared, of one profile, one data set and one network."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bnnbench.datasets.conditions.condition_names import CLEAN
from bnnbench.datasets.conditions.traits import Traits, from_data
from bnnbench.engine.declare import names
from bnnbench.engine.declare.description import canonical_json
from bnnbench.engine.records.record import Record, distance_from_official
from bnnbench.methods.card import Family
from bnnbench.metrics import LISTED, PROBED
from bnnbench.metrics.base import Margin, Margins
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.read.overlap import overlap_of
from bnnbench.reports.read.predictions.point_scores import KeptScores
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import differing
from bnnbench.reports.style.families import family_of, networks_among
from bnnbench.reports.style.palette import in_order
from bnnbench.reports.style.strategies import Arm, arm_of

ALIKE = ("architecture", "probes", "modules")
"""Parts of a run that, besides its source, all runs of a benchmark have in common."""

FIRST = (
    *("league", "league_large", "tuned", "tuned_quick", "tuned_more", "disjoint"),
    *("paper", "quick"),
)
"""The profiles shown first on a page: those whose settings were searched with one budget."""


@dataclass(frozen=True)
class Benchmark:
    """Runs that differ only in method, fold and seed.

    Networks may differ if the suite gives a method its own network, or the method supplies one.
    """

    profile: str
    dataset: str
    origin: str
    setting: str
    """The setting that distinguishes benchmarks of one data set; "" if there is only one."""
    runs: Mapping[str, tuple[Record, ...]]
    """method label → its runs, in the order of the tables"""
    point_scores: KeptScores | None = None
    """Scores at each test point, if predictions are available."""
    margins: Margins = field(default_factory=dict)
    """Metric → the margin that the reader requested instead of the metric's own."""
    with_yardsticks: bool = False
    """True if the reader lets methods that are no networks take the headline."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """A key that is unique on the page."""
        return self.profile, self.dataset, self.origin, self.setting

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All runs."""
        return tuple(record for runs in self.runs.values() for record in runs)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The test conditions, clean data first; with active learning, after the last round.

        Conditions measured only by probes are left out.
        """
        names = set(self.traits)
        kinds = {(c, tuple(s)) for r in self.records for c, s in r.outcome.scores.items()}
        names -= {condition for condition, scores in kinds if scores and is_probed(scores)}
        last = max((self.traits[name].acquisitions or 0 for name in names), default=0)
        names = {name for name in names if self.traits[name].acquisitions in (None, last)}
        return tuple(sorted(names, key=lambda name: (not self.traits[name].clean, name)))

    @cached_property
    def traits(self) -> Mapping[str, Traits]:
        """Condition → its traits, for all conditions with a scored run, including the conditions of
        probes."""
        described = {
            n: data for r in self.records for n, data in r.circumstances.condition_traits.items()
        }
        names = {
            name
            for r in self.records
            for name in (*r.outcome.scores, *r.circumstances.condition_origins)
        }
        return {name: from_data(described.get(name, {"title": name})) for name in sorted(names)}

    def condition(self, name: str) -> str:
        """Return a test condition in running text."""
        return self.traits[name].title if name in self.traits else name

    @property
    def main(self) -> str:
        """The condition that is shown if there is room for only one."""
        return self.conditions[0] if self.conditions else CLEAN

    @cached_property
    def rounds(self) -> tuple[str, ...]:
        """The conditions of clean data after each round of active learning, in order."""
        counts = {
            name: traits.acquisitions
            for name, traits in self.traits.items()
            if traits.clean and traits.acquisitions is not None
        }
        return tuple(sorted(counts, key=lambda name: counts[name]))

    @property
    def own_networks(self) -> Mapping[str, str]:
        """Method → a short description of its network, for methods with a custom network."""
        firsts = {method: runs[0] for method, runs in self.runs.items()}
        return {
            m: network_description(record)
            for m, record in firsts.items()
            if has_own_network(record) and record.external is None
        }

    @cached_property
    def families(self) -> Mapping[str, Family]:
        """Method → its family."""
        return {m: family_of(runs[0].run.get("method")) for m, runs in self.runs.items()}

    @cached_property
    def in_headlines(self) -> "Benchmark":
        """The benchmark of the methods that may take its headline: networks, unless asked."""
        constants = [m for m, runs in self.runs.items() if is_constant(runs)]
        names = networks_among(self.families, constants)
        if self.with_yardsticks or len(names) == len(self.runs):
            return self
        return replace(self, runs={m: self.runs[m] for m in names})

    @property
    def arms(self) -> Mapping[str, Arm]:
        """Label → acquisition strategy, for the labels of active learning."""
        arms = {label: arm_of(label, runs[0]) for label, runs in self.runs.items()}
        return {label: arm for label, arm in arms.items() if arm}

    def margin(self, metric: str) -> Margin | None:
        """Return the margin within which methods are practically equal by a metric."""
        if metric in self.margins:
            return self.margins[metric]
        listed = LISTED.get(metric)
        if listed is None:
            return None
        return listed.margin_for(any(record.circumstances.target for record in self.records))

    @cached_property
    def by_fold(self) -> bool:
        """True if the replicates are folds, each the mean of its seeds; False if they are seeds."""
        return len({record.fold for record in self.records}) > 1

    @cached_property
    def overlap(self) -> float | None:
        """Factor by which rows shared by splits widen errors; 0 for seeds of one split."""
        return overlap_of(self.records) if self.by_fold else 0.0

    @property
    def title(self) -> str:
        """The title on pages, with the setting if there are several."""
        titles = (r.title for r in self.records if r.title)
        name = labels.case(self.dataset, next(titles, ""))
        return f"{name} ({self.setting})" if self.setting else name

    def origin_of(self, condition: str) -> str:
        """Return the least official origin of the data that a condition was scored on."""
        origins = {self.origin} | {
            r.circumstances.condition_origins[condition]
            for r in self.records
            if condition in r.circumstances.condition_origins
        }
        return max(origins, key=distance_from_official)


def benchmarks(records: Iterable[Record]) -> list[Benchmark]:
    """Return the benchmarks of the records, profiles in order of `FIRST`, data sets by name.

    Runs with the same label but other settings count as another method and are labelled so.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Record]]] = defaultdict(dict)
    for record in sorted(records, key=has_own_network):
        place = groups[record.profile, record.dataset, record.circumstances.origin]
        place.setdefault(_protocol(record, place), []).append(record)
    collected = []
    for (profile, dataset, origin), protocols in groups.items():
        ordered = sorted(protocols)
        first = [protocols[p][0].run for p in ordered]
        parts = [{k: run.get(k) for k in ("source", *ALIKE)} for run in first]
        settings = differing(parts) if len(parts) > 1 else [""]
        for protocol, setting in zip(ordered, settings, strict=True):
            runs = _by_method(protocols[protocol])
            collected.append(Benchmark(profile, dataset, origin, setting, runs))
    return sorted(collected, key=lambda b: (_rank(b.profile), b.profile, b.dataset, b.setting))


def network_description(record: Record) -> str:
    """Return a short description of a method's custom network; the page lists a suite's layers."""
    if record.external is not None:
        return "unknown: external predictions"
    network = record.outcome.own_network
    if network is None:
        return "given by the suite"
    name, count = names.class_name(str(network.get("class"))), network.get("parameters")
    return f"{name}, {count} parameters, structure {str(network.get('structure_sha256'))[:12]}"


def is_probed(scores: Iterable[str]) -> bool:
    """Return whether all of these scores were measured by probes."""
    return PROBED.keys() >= set(scores)


def has_own_network(record: Record) -> bool:
    """Return whether the suite gave the method a custom network, or the method supplied one.

    The network of a method of another program is unknown, and counts as custom.
    """
    brought = (record.outcome.own_network, record.external) != (None, None)
    return brought or bool(record.run.get("own_architecture"))


def _protocol(record: Record, others: Mapping[str, Sequence[Record]]) -> str:
    """Return the key that records of a benchmark share.

    A record with a custom network joins the records of the same source.
    """
    source = record.run.get("source")
    if has_own_network(record):
        alike = [p for p, records in others.items() if records[0].run.get("source") == source]
        if len(alike) == 1:
            return alike[0]
    return canonical_json([source, *(record.run.get(k) for k in ALIKE)])


def _by_method(records: Iterable[Record]) -> dict[str, tuple[Record, ...]]:
    variants: dict[str, dict[str, list[Record]]] = defaultdict(dict)
    for record in records:
        settings = canonical_json([record.run.get(part) for part in _SETTINGS])
        variants[record.method].setdefault(settings, []).append(record)
    rows: dict[str, tuple[Record, ...]] = {}
    arms = {
        label: arm_of(label, next(iter(groups.values()))[0]) for label, groups in variants.items()
    }
    for label in in_order(variants, {label: arm for label, arm in arms.items() if arm}):
        groups = [variants[label][settings] for settings in sorted(variants[label])]
        texts = differing([_settings(group[0]) for group in groups])
        for group, text in zip(groups, texts, strict=True):
            name = f"{label} ({text})" if len(groups) > 1 else label
            rows[name] = tuple(sorted(group, key=lambda r: (r.fold, r.seed)))
    return rows


_SETTINGS = ("method", "acquisition")


def _settings(record: Record) -> object:
    """Return the settings that distinguish variants of a method."""
    method, acquisition = (record.run.get(part) for part in _SETTINGS)
    return {**method, "acquisition": acquisition} if isinstance(method, Mapping) else method


def _rank(profile: str) -> int:
    return FIRST.index(profile) if profile in FIRST else len(FIRST)
