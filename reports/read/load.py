"""Read what a suite kept; what cannot be read is named, never dropped in silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

from bnnbench.suites.engine.store.earlier_schemas import with_registered_names
from bnnbench.suites.engine.store.record import Record, newest
from bnnbench.suites.engine.store.store import Store


@dataclass(frozen=True)
class Damage:
    """A run of which something cannot be read."""

    key: str
    reason: str
    whole: bool = False
    """Whether nothing is wrong with its files: their reading needs a class that is not imported."""


@dataclass(frozen=True)
class Results:
    """All runs of one suite that could be read, and the rest by name."""

    store: Store
    records: tuple[Record, ...]
    """One for each data set, method, fold and seed: what a command last asked for."""
    damage: tuple[Damage, ...]
    older: tuple[Record, ...]
    """Runs of other settings under the same names, which the store also holds."""
    places: Mapping[str, str] = field(default_factory=dict)
    """key → name of the store it was taken from, where results of several are merged"""
    copies: int = 0
    """How many runs more than one store holds."""
    disagreeing: tuple[str, ...] = ()
    """Of these the keys whose scores differ from store to store."""

    @property
    def superseded(self) -> int:
        """How many older runs there are."""
        return len(self.older)

    @property
    def suite(self) -> str:
        """The suite's name, which is the folder's."""
        return self.store.folder.resolve().name


def suite_folders(results: Path) -> list[Path]:
    """Return the folders of suites under `results`, which may be one itself.

    Raises ValueError when there is none.
    """
    if not results.is_dir():
        raise ValueError(f"{results} is not a folder; give the folder that --out of a suite names")
    if (results / "runs").is_dir():
        return [results]
    found = sorted(runs.parent for runs in results.glob("*/runs") if runs.is_dir())
    if not found:
        raise ValueError(
            f"{results} holds no results: there is no {results}/<suite>/runs. "
            f"`python -m suites.cifar10 --out {results}` makes some"
        )
    return found


def store_names(results: Sequence[Path]) -> list[str]:
    """Return a name for each folder of results: the end of its path that tells it apart."""
    for length in range(1, max(len(path.resolve().parts) for path in results) + 1):
        names = ["/".join(path.resolve().parts[-length:]) for path in results]
        if len(set(names)) == len(names):
            return names
    raise ValueError(f"a folder of results is named twice: {', '.join(map(str, results))}")


def read(folder: Path) -> Results:
    """Return the results of the suite in `folder`.

    Raises ValueError when it holds no record at all.
    """
    store = Store(folder)
    records: list[Record] = []
    damage: list[Damage] = []
    keys = list(store.run_keys())
    for key in keys:
        try:
            records.append(_checked(store.read(key), key))
        except (ValueError, OSError) as error:
            damage.append(Damage(key, str(error)))
    if not any((store.runs / key / "record.json").exists() for key in keys):
        raise ValueError(
            f"{store.runs} holds no run: none of its folders has a record.json. "
            "Either no run was finished, or this is not a folder of results"
        )
    current = newest(records)
    kept = {record.key for record in current}
    older = tuple(record for record in records if record.key not in kept)
    return Results(store, tuple(current), tuple(damage), older)


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("suite", "profile", "dataset", "origin", "method"), str),
    **dict.fromkeys(("fold", "seed"), int),
    **dict.fromkeys(("run", "scores", "condition_origins", "diagnostics", "facts"), Mapping),
    **dict.fromkeys(("provenance", "not_scored", "unanswered"), Mapping),
    "error": (str, type(None)),
    "target": (Mapping, type(None)),
    "own_network": (Mapping, type(None)),
}


def _checked(record: Record | None, key: str) -> Record:
    """Return the record, or raise ValueError when a report could not rely on it."""
    if record is None:
        raise ValueError("no record.json in the folder")
    if record.key != key:
        raise ValueError(f"the record in {key} belongs to run {record.key}: a copied folder?")
    wrong = [name for name, kind in _TYPES.items() if not isinstance(getattr(record, name), kind)]
    if record.status not in ("completed", "diverged", "failed"):
        wrong.append("status")
    unanswered = record.unanswered if "unanswered" not in wrong else {}
    if not all(isinstance(reasons, Mapping) for reasons in unanswered.values()):
        wrong.append("unanswered")
    numbers: list[object] = [record.diagnostics, *record.scores.values()]
    if record.cost is not None:
        numbers.append(record.cost.known)
    if not all(_holds_numbers(part) for part in numbers):
        wrong.append("a number")
    if not record.scores.keys() <= record.condition_origins.keys():
        wrong.append("condition_origins")
    if not all(isinstance(entry, Mapping) for entry in record.reproduces):
        wrong.append("reproduces")
    if wrong:
        raise ValueError(f"the record of {key} is damaged: {', '.join(wrong)} is of a wrong type")
    return with_registered_names(record)


def _holds_numbers(part: object) -> bool:
    return isinstance(part, Mapping) and all(isinstance(v, Real) for v in part.values())
