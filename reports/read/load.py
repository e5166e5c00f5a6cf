"""The results of a suite, read from its store; unreadable runs are named, not dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bnnbench.datasets.reading.third_party_text import legible, shortened
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.store.folders import real, stores_in
from bnnbench.engine.store.store import Store

LONGEST_MESSAGE = 10_000
"""Maximum number of characters of an error or a reason on a page."""


@dataclass(frozen=True)
class Damage:
    """A run that cannot be read in full."""

    key: str
    reason: str
    whole: bool = False
    """True if its files are intact and only their class is not imported."""


@dataclass(frozen=True)
class Results:
    """All readable runs of one suite, and the names of the others."""

    store: Store
    records: tuple[Record, ...]
    """One run per data set, method, fold and seed: the one last requested by a command."""
    damage: tuple[Damage, ...]
    older: tuple[Record, ...]
    """Runs in the store with the same names but other settings."""
    places: Mapping[str, str] = field(default_factory=dict)
    """key → name of its source store, if several stores are merged"""
    copies: int = 0
    """The number of runs held by more than one store."""
    disagreeing: tuple[str, ...] = ()
    """The keys of copies whose scores differ between stores."""
    sources: tuple[Path, ...] = ()
    """The folders that the runs were read from."""

    @property
    def superseded(self) -> int:
        """The number of older runs."""
        return len(self.older)

    @property
    def suite(self) -> str:
        """The suite's name, taken from the folder."""
        return real(self.store.folder).name


def suite_folders(results: Path) -> list[Path]:
    """Return the folders of suites under `results`, which may itself be one.

    Raises ValueError if there is none.
    """
    if not results.is_dir():
        raise ValueError(
            f"{results} is not a folder; give the folder that was passed to the suite as --out"
        )
    if not (folders := stores_in(results)):
        raise ValueError(
            f"{results} holds no results: there is no {results}/<suite>/runs. "
            f"`python -m suites.cifar10 --out {results}` makes some"
        )
    return folders


def store_names(results: Sequence[Path]) -> list[str]:
    """Return a name for each folder of results: the shortest unique end of its path."""
    for length in range(1, max(len(real(path).parts) for path in results) + 1):
        names = [legible("/".join(real(path).parts[-length:])) for path in results]
        if len(set(names)) == len(names):
            return names
    raise ValueError(
        f"a folder of results is given twice: {', '.join(map(str, results))}; give each only once"
    )


def read(folder: Path) -> Results:
    """Return the results of the suite in `folder`.

    Raises ValueError if it holds no record at all.
    """
    store = Store(folder)
    records: list[Record] = []
    damage: list[Damage] = []
    keys = list(store.run_keys())
    for key in keys:
        try:
            if (record := store.read(key)) is None:
                raise ValueError("its folder has no record.json")
            records.append(_with_short_messages(record))
        except (ValueError, OSError) as error:
            damage.append(Damage(key, shortened(str(error), LONGEST_MESSAGE)))
    if not any((store.runs / key / "record.json").exists() for key in keys):
        raise ValueError(
            f"{store.runs} holds no runs: none of its folders has a record.json. "
            "Either no run has finished, or this is not a folder of results"
        )
    current = newest(records)
    current_keys = {record.key for record in current}
    older = tuple(record for record in records if record.key not in current_keys)
    return Results(store, tuple(current), tuple(damage), older, sources=(folder,))


def _with_short_messages(record: Record) -> Record:
    """Return the record with messages shortened to fit on a page."""
    messages = (record.outcome.error or "", *record.outcome.not_scored.values())
    reasons = (reason for of in record.outcome.unanswered.values() for reason in of.values())
    if all(len(message) <= LONGEST_MESSAGE for message in (*messages, *reasons)):
        return record
    return record.with_outcome(
        error=record.outcome.error and shortened(record.outcome.error, LONGEST_MESSAGE),
        not_scored={
            name: shortened(reason, LONGEST_MESSAGE)
            for name, reason in record.outcome.not_scored.items()
        },
        unanswered={
            condition: {
                name: shortened(reason, LONGEST_MESSAGE) for name, reason in reasons.items()
            }
            for condition, reasons in record.outcome.unanswered.items()
        },
    )
