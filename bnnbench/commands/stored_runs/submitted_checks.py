"""Checks of submitted runs that need only their text, the bundle's and the suite's declaration."""

from collections.abc import Sequence
from importlib import import_module

from bnnbench.commands.stored_runs.submitted import (
    Refused,
    Submitted,
    check_modules,
    check_names,
    code_digest,
)
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.rebuilding import rebuilt
from bnnbench.engine.workers.separate import NoAnswer, answer
from bnnbench.methods.base import BatchedMethod
from bnnbench.wording import counted

IMPORT_SECONDS = 300.0
"""Maximum time to import the method's files."""


def names(submitted: Submitted) -> None:
    """Raise `Refused` for names of classes and of files that are not of the submission."""
    check_modules(submitted.modules)
    check_names(submitted.records, submitted.modules)


def one_method(submitted: Submitted) -> None:
    """Raise `Refused` unless the runs are finished ones of one method in one profile."""
    records = submitted.records
    kinds = {(r.suite, r.profile, r.method) for r in records}
    if len(kinds) != 1:
        raise Refused(f"runs of {counted(len(kinds), 'kind')}")
    if failed := sum(record.outcome.status == "failed" for record in records):
        raise Refused(counted(failed, "failed run"))
    if any(record.external is not None for record in records):
        raise Refused("predictions of another program, which cannot be made again here")
    if any(record.cost and record.cost.fit_of for record in records):
        raise Refused("a fit that is shared with another run, though no two of them could")
    if any(value < 0 for record in records for value in _costs(record)):
        raise Refused("a cost below 0")


def _costs(record: Record) -> list[float]:
    values = [] if record.cost is None else [record.cost.value(name) for name in COSTS]
    return [value for value in values if value is not None]


def complete(submitted: Submitted) -> None:
    """Raise `Refused` if a completed run lacks a score that the suite declares, without a reason.

    Only an attack that needs a gradient can leave a condition without scores.
    """
    for record in submitted.records:
        outcome = record.outcome
        for evaluation in submitted.suite.evaluations if outcome.status == "completed" else ():
            name = evaluation.condition.name
            if name in outcome.not_scored and isinstance(evaluation.condition, Attack):
                continue
            given = {**outcome.scores.get(name, {}), **outcome.unanswered.get(name, {})}
            if lacking := [metric for metric in evaluation.metrics if metric not in given]:
                raise Refused(f"{record.key} has no {lacking[0]} under {name}, and no reason")


def protocol(submitted: Submitted) -> None:
    """Raise `Refused` unless the runs are exactly those of the profile, under its names."""
    asked, keys = submitted.runs, {record.key for record in submitted.records}
    missing, added = asked.keys() - keys, keys - asked.keys()
    problems = [
        f"{len(missing)} of {len(asked)} runs are missing" if missing else "",
        f"{counted(len(added), verb='is')} not in the profile" if added else "",
    ]
    if any(problems):
        raise Refused("; ".join(filter(None, problems)))
    conditions = {_text(e.condition) for e in submitted.suite.evaluations}
    for record in submitted.records:
        declared = {**submitted.runs[record.key].names, "method": record.method}
        stated = {name: getattr(record, name) for name in declared}
        evaluated = {_text(described.get("condition")) for described in record.evaluations}
        if stated != declared or evaluated != conditions or not _reproduces(submitted, record):
            raise Refused(f"the run {record.key} states other names than the profile declares")


def _reproduces(submitted: Submitted, record: Record) -> bool:
    declared = describe([vars(one) for one in submitted.suite.reproduces])
    return describe(list(record.reproduces)) == declared


def _text(described: object) -> str:
    return canonical_json(describe(described))


def code(submitted: Submitted) -> None:
    """Raise `Refused` unless the runs were made by the code that comes with them."""
    for method in {_text(method): method for method in submitted.methods.values()}.values():
        digest = code_digest(method, submitted.code)
        of_method = [r for r in submitted.records if _text(r.run["method"]) == _text(method)]
        other = [r.key for r in of_method if r.circumstances.code_sha256 != digest]
        if other:
            raise Refused(f"made by other code: {counted(len(other))}, such as {other[0]}")


def same_data(submitted: Submitted, others: Sequence[Record]) -> None:
    """Raise `Refused` if runs of the bundle on the same data sets have other data."""
    suite = submitted.first.suite
    known = {
        (r.dataset, r.fold): r.circumstances.data_sha256
        for r in others
        if r.suite == suite and r.circumstances.data_sha256
    }
    odd = [
        r.key
        for r in submitted.records
        if known.get((r.dataset, r.fold), r.circumstances.data_sha256)
        != r.circumstances.data_sha256
    ]
    if odd:
        raise Refused(
            f"made with other data than the bundle's: {counted(len(odd))}, such as {odd[0]}"
        )


def constructed(submitted: Submitted) -> None:
    """Raise `Refused` unless the method's class describes itself as the records do."""
    methods = {_text(method): method for method in submitted.methods.values()}
    arguments = _described_again, list(methods.values()), submitted.modules
    try:
        again = answer(
            *arguments,
            folder=str(submitted.code),
            seconds=IMPORT_SECONDS,
            sandbox=submitted.sandbox,
        )
    except NoAnswer as error:
        raise Refused(f"its files cannot be imported, or its class constructed: {error}") from error
    pairs = [(method, fits) for method in methods for fits in (True, False)]
    answered = [pair for pair in pairs if isinstance(again, list) and list(pair) in again]
    if [text for text, _ in answered] != list(methods):
        raise Refused("its class describes itself otherwise than the records do")
    together = {text for text, fits_many in answered if fits_many}
    for record in submitted.records:
        cost = record.cost
        most = submitted.suite.fitted_together if _text(record.run["method"]) in together else 1
        if cost and not 1 <= cost.fitted_together <= most:
            raise Refused(
                f"the run {record.key} states that {cost.fitted_together} fits were made together, "
                f"more than {most}"
            )


def _described_again(methods: list[object], modules: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the canonical descriptions of methods that are constructed from theirs, and whether
    they fit several problems together."""
    for module in modules:
        import_module(module)
    made = [rebuilt(method, modules) for method in methods]
    return [(_text(method), isinstance(method, BatchedMethod)) for method in made]
