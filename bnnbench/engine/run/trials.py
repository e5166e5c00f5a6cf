"""Test scores of every trial of a search, after it has chosen: for curves, never for the choice."""

import torch

from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run.attempt import Attempt, blaming
from bnnbench.engine.run.guards.data_guard import unchanged
from bnnbench.engine.run.score import score
from bnnbench.engine.run.streams import stream
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.tuning.posterior import TunedPosterior

SCORED = ("accuracy", "nll", "rmse", "log_likelihood")


def score_trials(attempt: Attempt, evaluation: Evaluation | None, device: torch.device) -> None:
    """Keep a tuned posterior's search, and score its trials as the evaluation scores the choice."""
    posterior = attempt.posterior
    if not isinstance(posterior, TunedPosterior):
        return
    attempt.search = posterior.search.as_data()
    if evaluation is None:
        return
    run, data = attempt.run, attempt.data
    scale = data.target and vars(data.target)
    name, split = evaluation.condition.name, evaluation.condition.select(data)
    names = [metric for metric in SCORED if metric in evaluation.metrics]
    inputs = split.inputs.to(device)
    with blaming(attempt), unchanged(split):
        for trial, fit in posterior.trials.items():
            rng = stream("predict", run.source, run.fold, run.seed, name, device=device)
            try:
                prediction = fit.predict(inputs, rng)
            except InferenceDiverged:  # a trial without a score costs the run nothing
                continue
            scores = score(prediction, split.targets.to(device), names, scale)
            attempt.trial_scores[str(trial)] = dict(scores.values)
