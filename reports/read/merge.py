"""Results of one suite from several machines as one: every run once, and where it came from."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bnnbench.reports.read.load import Damage, Results
from bnnbench.suites.engine.run.packing import Predictions
from bnnbench.suites.engine.store.record import Record, newest
from bnnbench.suites.engine.store.store import Store


@dataclass(frozen=True)
class MergedStore(Store):
    """Several stores that are read as one; nothing is written to it."""

    places: Mapping[str, Store]
    """key → the store whose record was taken"""

    def predictions(self, key: str) -> Predictions:
        """Return the predictions of a run from the store whose record was taken."""
        return self.places[key].predictions(key)


def store_of(store: Store, key: str) -> Store:
    """Return the store that holds a run."""
    return store.places[key] if isinstance(store, MergedStore) else store


def predictions_path(store: Store, key: str) -> Path:
    """Return where the predictions of a run are kept."""
    return store_of(store, key).runs / key / "predictions.npz"


def merged(found: Mapping[str, Results]) -> Results:
    """Return the results of one suite from stores by name, in the order of preference.

    Of a run that several stores hold, the completed one is taken, of those the one that was
    asked for last. Runs whose scores differ from store to store are named.
    """
    if len(found) == 1:
        return next(iter(found.values()))
    held: dict[str, dict[str, Record]] = defaultdict(dict)
    for name, results in found.items():
        for record in (*results.records, *results.older):
            held[record.key][name] = record
    taken = {key: _preferred(copies) for key, copies in held.items()}
    several = {key: copies for key, copies in held.items() if len(copies) > 1}
    records = [held[key][name] for key, name in taken.items()]
    current = newest(records)
    kept = {record.key for record in current}
    return Results(
        MergedStore(
            next(iter(found.values())).store.folder,
            {key: found[name].store for key, name in taken.items()},
        ),
        tuple(current),
        _damage(found),
        tuple(record for record in records if record.key not in kept),
        taken,
        len(several),
        tuple(sorted(key for key, copies in several.items() if _disagree(list(copies.values())))),
    )


def _preferred(copies: Mapping[str, Record]) -> str:
    """Return the store whose copy of a run is taken; the first of equals."""
    rank = {
        name: (record.status == "completed", str(record.provenance.get("finished", "")))
        for name, record in copies.items()
    }
    return max(rank, key=rank.__getitem__)


def _disagree(copies: Sequence[Record]) -> bool:
    """Return whether copies of one run do not tell the same scores, NaN being equal to NaN."""
    told = {repr([r.status, sorted((c, sorted(s.items())) for c, s in r.scores.items())])
            for r in copies}  # fmt: skip
    return len(told) > 1


def _damage(found: Mapping[str, Results]) -> tuple[Damage, ...]:
    return tuple(
        replace(damage, reason=f"{name}: {damage.reason}")
        for name, results in found.items()
        for damage in results.damage
    )
