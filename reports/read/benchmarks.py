"""Sort records into what may be compared: one profile, one data set, one network."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bnnbench.datasets.conditions.base import Clean, acquisitions
from bnnbench.metrics import PROBED
from bnnbench.reports.read.arms import Arm, arm_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import differing
from bnnbench.reports.style.palette import method_order
from bnnbench.suites.engine.declare.description import canonical_json
from bnnbench.suites.engine.store.record import Record

FIRST = ("paper", "quick")
"""The profiles that a page begins with."""


@dataclass(frozen=True)
class Benchmark:
    """The runs that differ in method, fold and seed alone.

    Networks differ where the suite gives a method one of its own, or the method brings it.
    """

    profile: str
    dataset: str
    origin: str
    setting: str
    """What tells it from another benchmark of this data set; "" where it is the only one."""
    runs: Mapping[str, tuple[Record, ...]]
    """method label → its runs, in the order of the tables"""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What no other benchmark of the page has."""
        return self.profile, self.dataset, self.origin, self.setting

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All runs."""
        return tuple(record for runs in self.runs.values() for record in runs)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The test conditions, clean data first; of active learning, after the last round.

        What probes measured is not among them.
        """
        names = {name for r in self.records for name in (*r.scores, *r.condition_origins)}
        kinds = {(c, tuple(s)) for r in self.records for c, s in r.scores.items()}
        names -= {condition for condition, scores in kinds if scores and is_probed(scores)}
        counted = {name: acquisitions(name) for name in names}
        last = max((found[0] for found in counted.values() if found), default=0)
        shown = {n: f[1] if f else n for n, f in counted.items() if not f or f[0] == last}
        return tuple(sorted(shown, key=lambda name: (shown[name] != Clean.name, name)))

    @property
    def main(self) -> str:
        """The condition that stands for all where only one is shown."""
        return self.conditions[0] if self.conditions else Clean.name

    @cached_property
    def rounds(self) -> tuple[str, ...]:
        """Clean data after each round of active learning, in order; empty without."""
        names = {name for r in self.records for name in r.condition_origins}
        counted = {name: found for name in names if (found := acquisitions(name))}
        clean = [name for name, found in counted.items() if found[1] == Clean.name]
        return tuple(sorted(clean, key=lambda name: counted[name][0]))

    @property
    def own_networks(self) -> Mapping[str, str]:
        """Method → its network in a few words, of methods that have not that of the others."""
        firsts = {method: runs[0] for method, runs in self.runs.items()}
        return {m: network_words(record) for m, record in firsts.items() if has_own_network(record)}

    @property
    def arms(self) -> Mapping[str, Arm]:
        """Label → arm of active learning, of the labels that are one."""
        found = {label: arm_of(label, runs[0]) for label, runs in self.runs.items()}
        return {label: arm for label, arm in found.items() if arm}

    @property
    def title(self) -> str:
        """The name on pages, with whatever tells it apart."""
        titles = (r.title for r in self.records if r.title)
        shown = labels.case(self.dataset, next(titles, ""))
        return f"{shown} ({self.setting})" if self.setting else shown

    def origin_of(self, condition: str) -> str:
        """Return the least official origin of the data that a condition was scored on."""
        ranks = ("original", "generated", "subset", "stand-in")
        seen = {self.origin} | {
            r.condition_origins[condition] for r in self.records if condition in r.condition_origins
        }
        return max(seen, key=lambda origin: ranks.index(origin) if origin in ranks else 3)


def benchmarks(records: Iterable[Record]) -> list[Benchmark]:
    """Return the benchmarks of the records, profiles in order of `FIRST`, data sets by name.

    Runs of one label with other settings are another method, and are labelled as such.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Record]]] = defaultdict(dict)
    for record in sorted(records, key=has_own_network):
        place = groups[record.profile, record.dataset, record.origin]
        place.setdefault(_protocol(record, place), []).append(record)
    found = []
    for (profile, dataset, origin), protocols in groups.items():
        ordered = sorted(protocols)
        first = [protocols[p][0].run for p in ordered]
        parts = [{k: run.get(k) for k in ("source", "architecture", "probes")} for run in first]
        settings = differing(parts) if len(parts) > 1 else [""]
        for protocol, setting in zip(ordered, settings, strict=True):
            runs = _by_method(protocols[protocol])
            found.append(Benchmark(profile, dataset, origin, setting, runs))
    return sorted(found, key=lambda b: (_rank(b.profile), b.profile, b.dataset, b.setting))


def network_words(record: Record) -> str:
    """Return a method's own network in a few words; the page lists layers that a suite gave."""
    own = record.own_network
    if own is None:
        return "given by the suite"
    count, name = own.get("parameters"), str(own.get("class")).rpartition(":")[2]
    return f"{name}, {count} parameters, structure {str(own.get('structure_sha256'))[:12]}"


def is_probed(scores: Iterable[str]) -> bool:
    """Return whether probes measured all of these."""
    return PROBED.keys() >= set(scores)


def has_own_network(record: Record) -> bool:
    """Return whether the suite gave the method a network of its own, or the method brought one."""
    return bool(record.run.get("own_architecture")) or record.own_network is not None


def _protocol(record: Record, others: Mapping[str, Sequence[Record]]) -> str:
    """Return what records must share; one with a network of its own joins those of its source."""
    source = record.run.get("source")
    if has_own_network(record):
        alike = [p for p, records in others.items() if records[0].run.get("source") == source]
        if len(alike) == 1:
            return alike[0]
    return canonical_json([source, *(record.run.get(k) for k in ("architecture", "probes"))])


def _by_method(records: Iterable[Record]) -> dict[str, tuple[Record, ...]]:
    variants: dict[str, dict[str, list[Record]]] = defaultdict(dict)
    for record in records:
        settings = canonical_json([record.run.get(part) for part in _SETTINGS])
        variants[record.method].setdefault(settings, []).append(record)
    rows: dict[str, tuple[Record, ...]] = {}
    for label in sorted(variants, key=method_order):
        groups = [variants[label][settings] for settings in sorted(variants[label])]
        texts = differing([_settings(group[0]) for group in groups])
        for group, text in zip(groups, texts, strict=True):
            name = f"{label} ({text})" if len(groups) > 1 else label
            rows[name] = tuple(sorted(group, key=lambda r: (r.fold, r.seed)))
    return rows


_SETTINGS = ("method", "acquisition")


def _settings(record: Record) -> object:
    """Return what tells one variant of a method from another."""
    method, acquisition = (record.run.get(part) for part in _SETTINGS)
    return {**method, "acquisition": acquisition} if isinstance(method, Mapping) else method


def _rank(profile: str) -> int:
    return FIRST.index(profile) if profile in FIRST else len(FIRST)
