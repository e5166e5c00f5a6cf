"""Results of one suite from several machines, merged: every run once, with its store."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bnnbench.engine.records.record import Record, newest, preference
from bnnbench.engine.store.rounded import RoundedStore
from bnnbench.engine.store.store import PREDICTIONS, Store
from bnnbench.reports.read.load import Damage, Results
from bnnbench.reports.read.predictions.bundled import BundledStore

if TYPE_CHECKING:
    from bnnbench.engine.run.packing import Predictions


@dataclass(frozen=True)
class MergedStore(Store):
    """Several stores read as one; it is never written to."""

    places: Mapping[str, Store]
    """key → the store of its record"""

    def predictions(self, key: str) -> "Predictions":
        """Return the predictions of a run from the store of its record."""
        return self.places[key].predictions(key)


def store_of(store: Store, key: str) -> Store:
    """Return the store that holds a run."""
    return store.places[key] if isinstance(store, MergedStore) else store


def packed_bytes(store: Store, key: str) -> int:
    """Return the size of a run's predictions; raises FileNotFoundError if there are none."""
    holder = store_of(store, key)
    if isinstance(holder, BundledStore | RoundedStore):
        return holder.packed_bytes(key)
    return (holder.runs / key / PREDICTIONS).stat().st_size


def is_rounded(store: Store, key: str) -> bool:
    """Return whether a run's predictions, if there are any, are rounded (`engine.run.rounding`)."""
    holder = store_of(store, key)
    if isinstance(holder, BundledStore):
        return bool(holder.rounded) and key not in holder.spans
    return isinstance(holder, RoundedStore)


def merged(results_by_name: Mapping[str, Results]) -> Results:
    """Return the merged results of one suite; the keys are names of stores, in order of preference.

    Of several copies of a run, the one with the greatest `preference` counts, as in `bnnbench store
    merge`. Runs whose scores differ between stores are named.
    """
    if len(results_by_name) == 1:
        return next(iter(results_by_name.values()))
    held: dict[str, dict[str, Record]] = defaultdict(dict)
    for name, results in results_by_name.items():
        for record in (*results.records, *results.older):
            held[record.key][name] = record
    taken = {key: _preferred(copies) for key, copies in held.items()}
    several = {key: copies for key, copies in held.items() if len(copies) > 1}
    records = [held[key][name] for key, name in taken.items()]
    current = newest(records)
    current_keys = {record.key for record in current}
    return Results(
        MergedStore(
            next(iter(results_by_name.values())).store.folder,
            {key: results_by_name[name].store for key, name in taken.items()},
        ),
        tuple(current),
        _damage(results_by_name),
        tuple(record for record in records if record.key not in current_keys),
        taken,
        len(several),
        tuple(sorted(key for key, copies in several.items() if _disagree(list(copies.values())))),
        tuple(path for results in results_by_name.values() for path in results.sources),
    )


def _preferred(copies: Mapping[str, Record]) -> str:
    """Return the store with the preferred copy of a run; in a tie, the first."""
    return max(copies, key=lambda name: preference(copies[name]))


def _disagree(copies: Sequence[Record]) -> bool:
    """Return whether copies of one run have different scores; NaN equals NaN."""
    outcomes = [r.outcome for r in copies]
    versions = {repr([o.status, sorted((c, sorted(s.items())) for c, s in o.scores.items())])
            for o in outcomes}  # fmt: skip
    return len(versions) > 1


def _damage(results_by_name: Mapping[str, Results]) -> tuple[Damage, ...]:
    return tuple(
        replace(damage, reason=f"{name}: {damage.reason}")
        for name, results in results_by_name.items()
        for damage in results.damage
    )
