"""Sort records into what may be compared: one profile, one data set, one network."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.descriptions import differing
from reports.palette import method_order
from suites.engine.description import canonical_json
from suites.engine.record import Record


@dataclass(frozen=True)
class Benchmark:
    """The runs that differ in method, fold and seed alone."""

    profile: str
    dataset: str
    origin: str
    setting: str
    """What tells it from another benchmark of this data set; "" where it is the only one."""
    runs: Mapping[str, tuple[Record, ...]]
    """method label → its runs, in the order of the tables"""

    @property
    def records(self) -> tuple[Record, ...]:
        """All runs."""
        return tuple(record for runs in self.runs.values() for record in runs)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The test conditions, clean data first."""
        names = {name for r in self.records for name in (*r.scores, *r.condition_origins)}
        return tuple(sorted(names, key=lambda name: (name != "clean", name)))

    @property
    def title(self) -> str:
        """The data set, with what tells it apart."""
        return f"{self.dataset} ({self.setting})" if self.setting else self.dataset

    def origin_of(self, condition: str) -> str:
        """Return the least official origin of the data that a condition was scored on."""
        ranks = ("original", "generated", "subset", "stand-in")
        seen = {self.origin} | {
            r.condition_origins[condition] for r in self.records if condition in r.condition_origins
        }
        return max(seen, key=lambda origin: ranks.index(origin) if origin in ranks else 3)


def benchmarks(records: Iterable[Record]) -> list[Benchmark]:
    """Return the benchmarks of the records, paper profile first, data sets by name.

    Runs of one label with other settings are another method, and are labelled as such.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Record]]] = defaultdict(dict)
    for record in records:
        protocol = canonical_json([record.run.get("source"), record.run.get("architecture")])
        place = groups[record.profile, record.dataset, record.origin]
        place.setdefault(protocol, []).append(record)
    found = []
    for (profile, dataset, origin), protocols in groups.items():
        ordered = sorted(protocols)
        first = [protocols[p][0].run for p in ordered]
        parts = [{k: run.get(k) for k in ("source", "architecture")} for run in first]
        settings = differing(parts) if len(parts) > 1 else [""]
        for protocol, setting in zip(ordered, settings, strict=True):
            runs = _by_method(protocols[protocol])
            found.append(Benchmark(profile, dataset, origin, setting, runs))
    return sorted(found, key=lambda b: (b.profile != "paper", b.profile, b.dataset, b.setting))


def _by_method(records: Iterable[Record]) -> dict[str, tuple[Record, ...]]:
    variants: dict[str, dict[str, list[Record]]] = defaultdict(dict)
    for record in records:
        settings = canonical_json(record.run.get("method"))
        variants[record.method].setdefault(settings, []).append(record)
    rows: dict[str, tuple[Record, ...]] = {}
    for label in sorted(variants, key=method_order):
        groups = [variants[label][settings] for settings in sorted(variants[label])]
        texts = differing([group[0].run.get("method") for group in groups])
        for group, text in zip(groups, texts, strict=True):
            name = f"{label} ({text})" if len(groups) > 1 else label
            rows[name] = tuple(sorted(group, key=lambda r: (r.fold, r.seed)))
    return rows
