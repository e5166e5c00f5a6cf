"""Scores of predictions of third-party classes, computed in a process that imports them."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.store.rescoring.false_scores import false_scores
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers.separate import NoAnswer, answer

SECONDS = 3600.0
"""Maximum time to score the predictions of some runs."""


def false_scores_apart(
    store: Store,
    keys: Sequence[str],
    modules: Sequence[str],
    folder: Path,
    complete: bool = False,
    sandbox: Sandbox | None = None,
) -> dict[str, list[str]]:
    """Return key → phrases of `false_scores`, from a process that imports modules of a folder.

    Raises `NoAnswer` if it cannot import them or score the predictions.
    """
    arguments = _here, str(store.folder.absolute()), list(keys), list(modules), complete
    phrases = answer(
        *arguments,
        folder=str(folder.absolute()),
        seconds=SECONDS,
        sandbox=sandbox and sandbox.with_readable([store.folder]),
    )
    if not _is_answer(phrases, keys):
        raise NoAnswer("its module changed the process that scores it")
    return phrases


def with_modules(modules: Sequence[str], folder: Path) -> Callable[[Store, Record], list[str]]:
    """Return `false_scores`, which has the modules imported by another process if it needs them."""

    def score(store: Store, record: Record) -> list[str]:
        try:
            return false_scores(store, record)
        except NotImported:
            if not modules:
                raise
        try:
            return false_scores_apart(store, [record.key], modules, folder)[record.key]
        except NoAnswer as error:
            raise NotImported(f"a process that imports {', '.join(modules)}: {error}") from error

    return score


def _is_answer(phrases: object, keys: Sequence[str]) -> bool:
    if not isinstance(phrases, dict) or list(phrases) != list(keys):
        return False
    return all(
        isinstance(of_run, list) and all(isinstance(phrase, str) for phrase in of_run)
        for of_run in phrases.values()
    )


def _here(folder: str, keys: list[str], modules: list[str], complete: bool) -> dict[str, list[str]]:
    for module in modules:
        import_module(module)
    store = Store(Path(folder))
    records = {key: store.read(key) for key in keys}
    return {key: false_scores(store, record, complete) for key, record in records.items() if record}
