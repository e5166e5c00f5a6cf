"""Predictions and scores of a run under every condition, probes, and trials of a search."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bnnbench.datasets.base import Split, Target
from bnnbench.datasets.conditions.base import Condition
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.declare.probe import checked
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run.attacking import attacked, transferred
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.guards.batch_dependence import batch_dependence
from bnnbench.engine.run.guards.data_guard import CHANGED, DataChanged, sound, unchanged_data
from bnnbench.engine.run.guards.validation import check_scores, validated
from bnnbench.engine.run.measuring.fingerprint import fingerprint
from bnnbench.engine.run.measuring.stopwatch import timed
from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.score import on_scale, score
from bnnbench.engine.run.states import (
    ConditionResult,
    Failed,
    Fitted,
    Scored,
    Search,
    State,
    advanced,
)
from bnnbench.methods.base import InferenceDiverged, NotDifferentiable, differentiable
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.tuning.posterior import TunedPosterior

OF_TRIALS = ("accuracy", "nll", "rmse", "log_likelihood")
"""Metrics for the trials of a search, used for curves and never for the choice."""


def score_all(
    state: Fitted | Scored, evaluations: Sequence[Evaluation], device: torch.device, rows: Rows
) -> State:
    """Predict and score under each condition; the first error ends it.

    Without test targets in `rows`, predictions are only made.
    """
    (undamaged,) = rows.undamaged([state])
    assert isinstance(undamaged, Fitted | Scored)
    fitted = undamaged.fitted if isinstance(undamaged, Scored) else undamaged
    scored: Scored | Failed = Scored(fitted, undamaged.results)
    data = undamaged.loaded.data
    for evaluation in evaluations:
        # errors of a condition stop the suite
        split = rows.selected(undamaged.loaded, evaluation.condition)
        steps = _scored(scored, evaluation, split, device, rows, len(evaluations))
        scored = advanced(scored, steps)
        if isinstance(scored, Failed):
            return scored
    if not sound(*data.splits):
        return Failed.by(DataChanged(CHANGED), scored)
    return scored


def _scored(
    scored: Scored,
    evaluation: Evaluation,
    split: Split,
    device: torch.device,
    rows: Rows,
    conditions: int,
) -> Iterator[Scored]:
    """Yield the run after each step under a condition, so that an error loses no earlier result.

    A posterior without a gradient is not scored under an attack that needs one.
    """
    loaded, name, results = scored.loaded, evaluation.condition.name, scored.results
    result = ConditionResult(fingerprint(split))
    results = results.with_condition(name, result)
    yield replace(scored, results=results)
    try:
        results = replace(results, diagnostics=_diagnosed(scored.fitted, results.diagnostics))
        yield replace(scored, results=results)
        inputs, attack_scores = _inputs(scored.fitted, evaluation.condition, split, device, rows)
        predict = _predictor(scored.fitted, evaluation.condition, device, rows)
        answer, cost = timed(unchanged_data(predict, split), device)(inputs)
        results = replace(results, cost=results.cost + cost)
        yield replace(scored, results=results)
        prediction = validated(answer, split, loaded.data.columns, conditions, name)
        targets, scale, first = split.targets, loaded.data.target, loaded.first.target
        if scale and first and scale != first:
            prediction = on_scale(prediction, scale, first)
            targets = rows.on_first_scale(loaded, evaluation.condition)
        metrics = evaluation.metrics if rows.with_targets else ()
        scores = score(prediction, targets, metrics, first and dataclasses.asdict(first))
        check_scores(scores.values, name)
        rng = stream("company", *_names(scored.fitted, evaluation.condition))
        depends = unchanged_data(batch_dependence, split)(predict, inputs, answer, rng)
        result = replace(
            result,
            scores={**scores.values, **attack_scores},
            unanswered=scores.unanswered,
            batch_dependence=depends,
            stored=(prediction, targets),
        )
    except NotDifferentiable as reason:
        result = replace(result, not_scored=message(reason))
    yield replace(scored, results=results.with_condition(name, result))


def _predictor(
    fitted: Fitted, condition: Condition, device: torch.device, rows: Rows
) -> Callable[[Tensor], Any]:
    """Return a function from inputs to predictions that uses the same stream at every call."""
    names = _names(fitted, condition)

    def predict(inputs: Tensor) -> Any:
        given = rows.read_only(inputs).to(device)
        return fitted.posterior.predict(given, stream("predict", *names, device=device))

    return predict


def _names(fitted: Fitted, condition: Condition) -> tuple[object, ...]:
    """Return the names of a prediction's streams, which are the same for all sizes of an attack."""
    run = fitted.loaded.run
    draws = condition.family if isinstance(condition, Attack) else condition.name
    return run.source, run.fold, run.seed, draws


def _inputs(
    fitted: Fitted, condition: Condition, split: Split, device: torch.device, rows: Rows
) -> tuple[Tensor, Mapping[str, float]]:
    """Return the inputs under a condition and, for an attack on the posterior, its scores."""
    if not isinstance(condition, Attack):
        return split.inputs, {}
    if condition.surrogate:
        run, data = fitted.loaded.run, fitted.loaded.data
        inputs = rows.transferred(fitted.loaded, condition)
        return transferred(condition, run, data, device) if inputs is None else inputs, {}
    differentiable(fitted.posterior)  # before targets are asked for
    return attacked(fitted, condition, rows.revealed(fitted.loaded, condition), device)


def _diagnosed(fitted: Fitted, earlier: Mapping[str, float]) -> Mapping[str, float]:
    """Return the last fit's diagnostics, with the minimum of `converged` over all fits.

    NaN is no convergence.
    """
    given = fitted.posterior.diagnostics
    if odd := [type(name).__name__ for name in given if not isinstance(name, str)]:
        raise TypeError(f"needed names of diagnostics as text; got a {odd[0]}")
    diagnostics = {name: _number(value) for name, value in given.items()}
    if "converged" in diagnostics:
        both = diagnostics["converged"], earlier.get("converged", math.inf)
        diagnostics["converged"] = 0.0 if any(map(math.isnan, both)) else min(both)
    return diagnostics


def _number(value: Any) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)


def probe(scored: Scored, device: torch.device, rows: Rows) -> State:
    """Measure the posterior with the suite's probes; the first error ends it."""
    run = scored.loaded.run

    def steps() -> Iterator[Scored]:
        results, data = scored.results, rows.everything(scored.loaded)
        for number, measurement in enumerate(run.probes):
            rng = stream("probe", run.source, run.fold, run.seed, number, device=device)
            measure = unchanged_data(measurement.measure, *data.splits)
            measured = measure(scored.fitted.posterior, data, rng)
            for name, scores in checked(measured, results.scores).items():
                traits = measured[name].traits
                results = results.with_condition(
                    name, ConditionResult(scores=scores, traits=traits)
                )
            yield replace(scored, results=results)

    return advanced(scored, steps()) if run.probes else scored


def score_trials(
    scored: Scored, evaluation: Evaluation | None, device: torch.device, rows: Rows
) -> State:
    """Return the run with the search of a tuned posterior and the test scores of its trials.

    The trials are scored by the evaluation's metrics, after the search has chosen. Without test
    targets in `rows`, they only predict.
    """
    posterior = scored.fitted.posterior
    if not isinstance(posterior, TunedPosterior):
        return scored
    search = Search(posterior.search.as_data())
    scored = replace(scored, results=replace(scored.results, search=search))
    if evaluation is None:
        return scored
    run, condition, target = scored.loaded.run, evaluation.condition, scored.loaded.data.target
    split = rows.selected(scored.loaded, condition)

    def predicted() -> Search:
        inputs, targets = split.inputs.to(device), split.targets.to(device)
        predictions: dict[str, tuple[Predictive, Tensor]] = {}
        scores: dict[str, Mapping[str, float]] = {}
        for trial, fit in posterior.trials.items():
            draws = run.source, run.fold, run.seed, condition.name
            try:
                prediction = fit.predict(inputs, stream("predict", *draws, device=device))
            except InferenceDiverged:  # the run does not depend on its trials' scores
                continue
            if rows.with_targets:
                scores[str(trial)] = trial_scores(prediction, targets, evaluation, target)
            else:
                predictions[str(trial)] = prediction, targets
        return replace(search, scores=scores, predictions=predictions)

    def steps() -> Iterator[Scored]:
        trials = unchanged_data(predicted, split)()
        yield replace(scored, results=replace(scored.results, search=trials))

    return advanced(scored, steps())


def trial_scores(
    prediction: Predictive, targets: Tensor, evaluation: Evaluation, target: Target | None
) -> Mapping[str, float]:
    """Return the scores of a trial's prediction by some of an evaluation's metrics."""
    names = [metric for metric in OF_TRIALS if metric in evaluation.metrics]
    return dict(score(prediction, targets, names, target and vars(target)).values)
