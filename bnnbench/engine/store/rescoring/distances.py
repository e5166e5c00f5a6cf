"""Scores of finished runs against a suite's reference."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.declare.grid import Certified, Suite, TrueFunction
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.store.rescoring.added import (
    Skip,
    Truth,
    is_answered,
    raise_it,
    update,
    with_scores,
    without,
)
from bnnbench.engine.store.rescoring.another_run import AnotherRun, named_run
from bnnbench.engine.store.rescoring.certified import CertifiedPosterior, named_posterior
from bnnbench.engine.store.rescoring.far import Function, named_function
from bnnbench.engine.store.store import CorruptRecord, Store

Tell = Callable[[str], None]
"""A function that takes a line on progress."""


def add_distances(
    suite: Suite, store: Store, tell: Tell = lambda line: None, skip: Skip = raise_it
) -> list[str]:
    """Give each record its scores against the reference, and return warnings.

    Warnings are about cases and folds without a valid reference, or with one that did not converge.
    Scores against an outdated reference are replaced or dropped. Damaged records are left out.
    Missing or incomplete predictions are passed to `skip`, which by default raises the error.
    """
    doubts: dict[tuple[str, str, str], list[int]] = {}
    current = newest(store.readable()[0]) if suite.reference else []
    for case, fold, records in _folds(suite, current):
        try:
            truth = _truth(suite, case, fold, records, store)
            compared = partial(_compared, truth=truth, store=store)
            update(store, _outdated(truth, records, tell), compared, skip)
        except CorruptRecord as error:  # of the reference's own run
            skip(error)
            continue
        if truth.doubt and any(truth.role(record) != "left" for record in records):
            doubts.setdefault((truth.title, case.name, truth.doubt), []).append(fold)
    return [
        f"{title} on {dataset}, fold {', '.join(map(str, folds))}: {doubt}"
        for (title, dataset, doubt), folds in doubts.items()
    ]


def named_truths(record: Record, store: Store) -> Iterator[Truth]:
    """Yield what a record was compared with, unless it has changed. Raises `CorruptRecord`."""
    named = named_posterior if "relation" in (record.reference or {}) else named_run
    for truth in (named(record, store), named_function(record, store)):
        if truth:
            yield truth


def _folds(suite: Suite, records: Sequence[Record]) -> Iterator[tuple[Case, int, list[Record]]]:
    """Yield the suite's records in groups of one case and fold."""
    for case in suite.cases:
        source = canonical_json(describe(case.source))
        alike = [r for r in records if (r.profile, r.dataset) == (suite.profile, case.name)]
        of_case = [r for r in alike if canonical_json(r.run.get("source")) == source]
        for fold in sorted({record.fold for record in of_case}):
            of_fold = (record for record in of_case if record.fold == fold)
            yield case, fold, sorted(of_fold, key=lambda record: (record.method, record.seed))


def _truth(suite: Suite, case: Case, fold: int, records: Sequence[Record], store: Store) -> Truth:
    match suite.reference:
        case Certified() as certified:
            return CertifiedPosterior.of_case(suite, case, certified)
        case TrueFunction():
            return Function.of_fold(case, fold, records)
        case label:
            assert label
            return AnotherRun.of_fold(label, records, store)


def _outdated(truth: Truth, records: Sequence[Record], tell: Tell) -> Iterator[Record]:
    """Yield the records whose scores are missing or against another truth, and tell so."""
    outdated = [record for record in records if not _is_current(record, truth)]
    for number, record in enumerate(outdated, 1):
        place = f"{record.dataset}, fold {record.fold}"
        progress = f"[{number}/{len(outdated)}] {record.method}, seed {record.seed}"
        tell(f"{truth.title[0].upper()}{truth.title[1:]} on {place}: {progress}")
        yield record


def _is_current(record: Record, truth: Truth) -> bool:
    role = truth.role(record)
    if role == "dropped":
        return record.reference is None
    if role == "left" or record.outcome.status != "completed":
        return True
    return record.reference == truth.identity(record) and is_answered(record, truth.metrics)


def _compared(record: Record, truth: Truth, store: Store) -> Record:
    """Return the record with its scores against the truth, or without any if they are dropped."""
    if truth.role(record) == "dropped":
        return replace(without(record, truth.metrics), reference=None)
    scored = with_scores(record, truth.metrics, *truth.scores(record, store))
    return replace(scored, reference=truth.identity(record))
