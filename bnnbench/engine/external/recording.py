"""External predictions as records of a suite, next to its own runs."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bnnbench.datasets import SOURCES, source
from bnnbench.datasets.base import Dataset
from bnnbench.datasets.facts import of_source
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Run, Suite
from bnnbench.engine.declare.third_party import ScoredElsewhere
from bnnbench.engine.external.forms import BadPredictions
from bnnbench.engine.external.predictives import predictive_of
from bnnbench.engine.external.reading import HandedIn
from bnnbench.engine.external.rows import check_rows
from bnnbench.engine.external.scoring import OF_KIND
from bnnbench.engine.records.record import Circumstances, Outcome, Record
from bnnbench.engine.run.guards.validation import check, check_finite, check_scores
from bnnbench.engine.run.measuring.fingerprint import fingerprint, fingerprint_of_data
from bnnbench.engine.run.measuring.provenance import Code, provenance
from bnnbench.engine.run.packing import pack, stored_form, vars_of
from bnnbench.engine.run.score import check_kind, rescaled, score
from bnnbench.methods.base import InferenceDiverged

NOT_HANDED_IN = "no predictions for its inputs were provided"
"""The reason why a condition other than the clean test rows is not scored."""


@dataclass(frozen=True)
class Statement:
    """A submitter's statement about the method behind external predictions."""

    method: str
    by: str
    code: str = ""
    cost: str = ""


def records_of(
    handed_in: Sequence[HandedIn], suite: Suite, case: Case, statement: Statement
) -> list[tuple[Record, bytes]]:
    """Return a record and packed predictions for each fold and seed.

    Folds and seeds are known, and the case's source can be loaded. Raises BadPredictions with the
    file, the cause and the remedy.
    """
    evaluation = clean_evaluation(suite)
    folds = min(suite.folds, case.source.folds)
    records: dict[str, tuple[Record, bytes]] = {}
    for one in handed_in:
        assert one.fold is not None
        assert one.seed is not None
        try:
            if one.fold >= folds:
                raise BadPredictions(
                    f"{case.name} has folds 0 to {folds - 1} in the {suite.profile} profile, not "
                    f"{one.fold}"
                )
            run = _run(suite, case, statement, one.fold, one.seed)
            if run.key in records:
                raise BadPredictions(
                    f"fold {one.fold} of seed {one.seed} occurs twice: keep one of them, or give "
                    "them different seeds"
                )
            check_rows(one, case.source, one.fold, _export(suite, case, one.fold))
            records[run.key] = _recorded(one, run, suite, evaluation, statement)
        except BadPredictions as error:
            raise BadPredictions(f"{one.file}: {error}") from error
    return list(records.values())


def clean_evaluation(suite: Suite) -> Evaluation:
    """Return the evaluation of the clean test rows. Raises BadPredictions if absent."""
    clean = [e for e in suite.evaluations if e.condition.traits.clean]
    if not clean or suite.acquisitions:
        raise BadPredictions(
            f"the {suite.profile} profile of {suite.name} does not score predictions of a fixed "
            "set of test rows; choose another suite or profile"
        )
    return clean[0]


def _run(suite: Suite, case: Case, statement: Statement, fold: int, seed: int) -> Run:
    method = ScoredElsewhere(statement.method)
    return Run(
        suite.name,
        suite.profile,
        statement.method,
        case,
        method,
        fold,
        seed,
        probes=suite.probes,
    )


def _export(suite: Suite, case: Case, fold: int) -> str:
    """Return the command that writes the rows of a fold."""
    name = case.source.name
    if name in SOURCES and case.source == source(name):
        return f"bnnbench data export {name} --fold {fold}"
    place = f"--suite {suite.name} --profile {suite.profile} --dataset {case.name}"
    return f"bnnbench score --export DIR {place} --fold {fold}"


def _recorded(
    handed_in: HandedIn, run: Run, suite: Suite, evaluation: Evaluation, statement: Statement
) -> tuple[Record, bytes]:
    data = run.source.load(run.fold)
    condition = evaluation.condition
    split = condition.select(data)
    prediction = _on_standardised_scale(handed_in, data)
    prediction = stored_form(prediction)
    target = dataclasses.asdict(data.target) if data.target else None
    metrics = (*evaluation.metrics, *OF_KIND.get(handed_in.prediction.kind, ()))
    complete = Evaluation(condition, tuple(dict.fromkeys(metrics)))
    try:
        check_kind(prediction, split.targets)
        check_finite(prediction, vars_of(prediction), f"under the condition {condition.name}")
        check(prediction, len(split), data.columns)
        scores = score(prediction, split.targets, complete.metrics, target)
        check_scores(scores.values, condition.name)
    except (TypeError, ValueError, InferenceDiverged) as error:
        raise BadPredictions(f"{error}: correct the predictions, and score them again") from error
    others = [e.condition.name for e in suite.evaluations if e.condition.name != condition.name]
    identity: dict[str, Any] = {"key": run.key, "run": run.description, **run.names}
    identity |= {name: getattr(run, name) for name in ("suite", "profile", "fold", "seed")}
    described: Any = describe(complete)
    record = Record(
        **identity,
        evaluations=(described,),
        external=_known(handed_in, statement),
        outcome=Outcome(
            status="completed",
            error=None,
            scores={condition.name: scores.values},
            diagnostics={},
            not_scored=dict.fromkeys(others, NOT_HANDED_IN),
            unanswered=_unanswered(condition.name, scores.unanswered),
        ),
        cost=None,
        circumstances=Circumstances(
            origin=data.origin,
            facts={**data.facts, **of_source(run.source)},
            provenance=provenance(torch.device("cpu"), run.method, Code()),
            target=target,
            condition_origins={condition.name: condition.origin(data)},
            condition_traits={condition.name: condition.traits.as_data()},
            condition_data={condition.name: fingerprint(split)},
            data_sha256=fingerprint_of_data(data),
        ),
    )
    return record, pack({condition.name: (prediction, split.targets)})


def _on_standardised_scale(handed_in: HandedIn, data: Dataset) -> Any:
    """Return the prediction as stored: of standardised targets, if targets are real-valued."""
    given = handed_in.prediction
    if given.of_classes != (data.target is None):
        needed = "classes" if data.target is None else f"a real-valued target, {data.target.name}"
        got = "classes" if given.of_classes else "real numbers"
        raise BadPredictions(f"the data has {needed}; the predictions are of {got}")
    if given.columns != data.columns:
        what = "classes" if given.of_classes else "outputs"
        raise BadPredictions(
            f"there are {given.columns} {what}, but the data has {data.columns}: give them all"
        )
    prediction = predictive_of(given)
    if data.target is None:
        return prediction
    return rescaled(prediction, -data.target.mean / data.target.std, 1 / data.target.std)


def _unanswered(condition: str, reasons: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {condition: dict(reasons)} if reasons else {}


def _known(handed_in: HandedIn, statement: Statement) -> dict[str, str]:
    said = {name: text for name, text in vars(statement).items() if name != "method"}
    return {**said, "file": handed_in.file, "file_sha256": handed_in.file_sha256}
