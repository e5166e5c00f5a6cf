"""Scores of runs that third-party code has fitted and predicted in a process of its own.

That process sends drafts: arrays of predictions, and facts about the fit that only it can know. All
scores, and what a record says of the data, are computed here, where no third-party code runs.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from torch import Tensor

from bnnbench.datasets.base import Dataset, PoolSource
from bnnbench.datasets.facts import of_source
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.records.record import Outcome, Record
from bnnbench.engine.run.attacking import needs_targets
from bnnbench.engine.run.error_texts import message, place, traceback_of
from bnnbench.engine.run.guards.consistency import settle
from bnnbench.engine.run.guards.validation import check_fields, check_prediction, check_scores
from bnnbench.engine.run.measuring.fingerprint import fingerprint, fingerprint_of_data
from bnnbench.engine.run.packing import Predictions, pack, stored_of_earlier_rounds, unpack
from bnnbench.engine.run.rows import data_of
from bnnbench.engine.run.score import score
from bnnbench.engine.run.scoring import trial_scores
from bnnbench.engine.run.states import tried
from bnnbench.engine.run.task import Draft, RunResult, Task
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions.base import Predictive
from bnnbench.metrics import ATTACKED, PROBED

Classes = Callable[[], AbstractContextManager[Callable[[str], Any]]]
"""A context with a function from the name of a class of predictions to what unpacks it. Its end
raises an error if the answers of a class are not to be believed."""


class NotADraft(ValueError):
    """A draft that a process does not send if it follows the protocol."""


@dataclass(frozen=True)
class ToScore:
    """The drafts of a task, whose runs are without their method (`serving.without_code`)."""

    task: Task
    drafts: Sequence[Draft]


def scored(to_score: ToScore, classes: Classes) -> list[RunResult]:
    """Return the outcome of each draft. Raises what sources and conditions raise.

    `classes` gives access to classes of predictions, of which third-party ones run elsewhere.
    """
    pairs = zip(to_score.task.runs, to_score.drafts, strict=True)
    return [_outcome(to_score.task, run, draft, classes) for run, draft in pairs]


def _outcome(task: Task, run: Run, draft: Draft, classes: Classes) -> RunResult:
    given = draft.record.outcome
    if not _can_be_acquired(run, given.acquired):
        error = NotADraft("acquired rows that are not in the pool")
        return RunResult(_unscored(draft.record).with_outcome(**_failure(error), acquired=()), None)
    data = _Rounds(run, tuple(given.acquired))
    record = _with_data(draft.record, task, run, data)
    bare = _unscored(record)
    if given.status != "completed":
        return RunResult(bare, None)

    def completed() -> _Done:
        with classes() as class_of:
            return _completed(task, run, draft, data, class_of)

    done = tried(completed)
    if isinstance(done, BaseException):
        return RunResult(bare.with_outcome(**_failure(done)), None)
    return RunResult(replace(record, outcome=done.outcome), done.predictions)


def _unscored(record: Record) -> Record:
    return record.with_outcome(scores={}, unanswered={}, trial_scores={})


def _can_be_acquired(run: Run, rows: Sequence[int]) -> bool:
    """Return whether the rows are batches of different rows of a run's pool."""
    if not rows or run.acquisition is None:
        return not rows
    pool = cast(PoolSource, run.source).candidates(run.fold, ()).tolist()
    batches, rest = divmod(len(rows), run.acquisition.batch)
    return not rest and batches <= run.acquisition.rounds and len({*rows} & {*pool}) == len(rows)


def _failure(error: BaseException) -> dict[str, Any]:
    if isinstance(error, InferenceDiverged):
        return {"status": "diverged", "error": message(error), "failed_at": None}
    return {"status": "failed", "error": traceback_of(error), "failed_at": place(error)}


@dataclass(frozen=True)
class _Rounds:
    """The data of every fit of a run, loaded one after another."""

    run: Run
    acquired: tuple[int, ...]

    def __iter__(self) -> Iterator[Dataset]:
        batch = self.run.acquisition.batch if self.run.acquisition else 1
        yield self.first
        for count in range(batch, len(self.acquired) + 1, batch):
            yield data_of(self.run, self.acquired[:count])

    @cached_property
    def first(self) -> Dataset:
        """The data of the first fit."""
        return data_of(self.run, ())

    @cached_property
    def last(self) -> Dataset:
        """The data of the last fit."""
        return data_of(self.run, self.acquired) if self.acquired else self.first


def _with_data(record: Record, task: Task, run: Run, data: _Rounds) -> Record:
    """Return the record with the facts about the data as they are here."""
    first, given = data.first, record.circumstances
    conditions = [e.condition for evaluations in task.rounds for e in evaluations]
    digests = {
        e.condition.name: fingerprint(e.condition.select(one))
        for evaluations, one in zip(task.rounds, data, strict=False)
        for e in evaluations
        if e.condition.name in given.condition_data
    }
    names = {condition.name for condition in conditions}
    probed = {n: t for n, t in given.condition_traits.items() if n not in names and run.probes}
    return record.with_circumstances(
        origin=first.origin,
        facts={**first.facts, **of_source(run.source)},
        target=dataclasses.asdict(first.target) if first.target else None,
        condition_origins={c.name: c.origin(first) for c in conditions}
        | dict.fromkeys(probed, first.origin),
        condition_traits={c.name: c.traits.as_data() for c in conditions} | probed,
        condition_data=digests,
        data_sha256=fingerprint_of_data(first),
        fitted_sha256=given.fitted_sha256 and fingerprint(data.last.train),
        code_sha256=task.code(run).sha256,
    )


@dataclass(frozen=True)
class _Done:
    outcome: Outcome
    predictions: bytes


@dataclass
class _Sums:
    """Scores of all conditions so far, and predictions to be stored, with their targets."""

    scores: dict[str, Mapping[str, float]] = field(default_factory=dict)
    unanswered: dict[str, Mapping[str, str]] = field(default_factory=dict)
    stored: dict[str, tuple[Predictive, Tensor]] = field(default_factory=dict)


def _completed(
    task: Task,
    run: Run,
    draft: Draft,
    data: _Rounds,
    class_of: Callable[[str], Any],
) -> _Done:
    """Return the outcome of a completed run, with its predictions. Raises what scoring raises."""
    given = draft.record.outcome
    _check(task, run, given)
    predictions = _predictions(task, draft, class_of)
    sums = _Sums()
    for number, (evaluations, rows) in enumerate(zip(task.rounds, data, strict=True)):
        if number:
            sums.stored = stored_of_earlier_rounds(sums.stored)
        for evaluation in evaluations:
            if evaluation.condition.name not in given.not_scored:
                _score(sums, evaluation, predictions, given, rows, data.first)
    outcome = replace(
        given,
        scores={**sums.scores, **_probed(task, run, given)},
        unanswered=sums.unanswered,
        trial_scores=dict(_of_trials(draft, task, data.last, class_of)),
    )
    return _Done(outcome, pack(sums.stored))


def _score(
    sums: _Sums,
    evaluation: Evaluation,
    predictions: Predictions,
    given: Outcome,
    rows: Dataset,
    first: Dataset,
) -> None:
    name = evaluation.condition.name
    prediction, _ = predictions[name]
    targets = evaluation.condition.select(rows).targets
    if rows.target and first.target and rows.target != first.target:
        targets = evaluation.condition.select(first).targets
    check_fields(prediction)
    check_prediction(prediction, targets, rows.columns, name)
    scale = dataclasses.asdict(first.target) if first.target else None
    scores = score(prediction, targets, evaluation.metrics, scale)
    check_scores(scores.values, name)
    followed = given.scores.get(name, {}) if needs_targets(evaluation.condition) else {}
    sums.scores[name] = {**scores.values, **{n: followed[n] for n in ATTACKED if n in followed}}
    if scores.unanswered:
        sums.unanswered[name] = scores.unanswered
    settle(prediction)
    sums.stored[name] = prediction, targets


def _predictions(task: Task, draft: Draft, class_of: Callable[[str], Any]) -> Predictions:
    """Return the predictions of all conditions, from before test targets were sent if possible."""
    if draft.predictions is None:
        raise NotADraft("a completed run without predictions")
    later = unpack(draft.revealed, class_of) if draft.revealed else {}
    attacked = [e.condition.name for e in task.rounds[-1] if needs_targets(e.condition)]
    predictions = {
        **unpack(draft.predictions, class_of),
        **{n: later[n] for n in attacked if n in later},
    }
    declared = [e.condition.name for evaluations in task.rounds for e in evaluations]
    expected = set(declared) - draft.record.outcome.not_scored.keys()
    if lacking := expected - predictions.keys():
        raise NotADraft(f"a completed run without predictions under {', '.join(sorted(lacking))}")
    return predictions


def _check(task: Task, run: Run, given: Outcome) -> None:
    """Raise `NotADraft` if the outcome has what no process sends that follows the protocol."""
    evaluations = [e for of_round in task.rounds for e in of_round]
    attacked = {e.condition.name for e in evaluations if isinstance(e.condition, Attack)}
    if extra := given.not_scored.keys() - attacked:
        raise NotADraft(f"no scores under {', '.join(sorted(extra))}, which follows no gradient")
    rule = run.acquisition
    if len(given.acquired) != (rule.rounds * rule.batch if rule else 0):
        raise NotADraft(f"{len(given.acquired)} acquired rows")


def _probed(task: Task, run: Run, given: Outcome) -> dict[str, Mapping[str, float]]:
    """Return the measurements of probes, which only the process of the posterior can make."""
    declared = {e.condition.name for evaluations in task.rounds for e in evaluations}
    probed = {name: scores for name, scores in given.scores.items() if name not in declared}
    unknown = {metric for scores in probed.values() for metric in scores} - PROBED.keys()
    if unknown or (probed and not run.probes):
        raise NotADraft("scores of conditions or metrics that the suite does not declare")
    return probed


def _of_trials(
    draft: Draft, task: Task, data: Dataset, class_of: Callable[[str], Any]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    evaluation = next(iter(task.rounds[-1]), None)
    if draft.trials is None or evaluation is None:
        return
    targets = evaluation.condition.select(data).targets
    for trial, (prediction, _) in unpack(draft.trials, class_of).items():
        yield trial, trial_scores(prediction, targets, evaluation, data.target)
        settle(prediction)
