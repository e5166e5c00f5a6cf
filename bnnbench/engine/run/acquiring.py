"""Active learning: rows acquired between fits."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.datasets.base import DataSource
from bnnbench.engine.declare.acquisition import RULES, Acquisition
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run.guards.data_guard import unchanged_data
from bnnbench.engine.run.guards.validation import check
from bnnbench.engine.run.measuring.stopwatch import timed
from bnnbench.engine.run.packing import stored_of_earlier_rounds
from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.states import Failed, Results, Scored, State, advanced
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.predictions.predictive import Predictive

CANDIDATES_AT_ONCE = 2000
"""Rows of the pool predicted in one call, to bound memory; only their scores are stored."""
SAME_SCORE = 1e-10
"""Difference of equal scores by rounding, relative to the largest score."""
LEAST_SCORE = 1e-12
"""Information, in nats, by which draws in single precision differ that are equal up to rounding;
and a variance that is negligible in standardised units."""


def with_acquired(scored: Scored, number: int, device: torch.device, rows: Rows) -> State:
    """Return the run with the rows that are new in fit `number`, chosen by the previous posterior.

    Of the predictions so far, only those that `stored_of_earlier_rounds` returns are stored.
    """
    loaded = scored.loaded
    run, data = loaded.run, loaded.data
    assert run.acquisition is not None
    candidates = rows.candidates(loaded)
    names = run.source, run.fold, run.seed, number - 1
    choose = timed(unchanged_data(acquire, data.train, data.test), device)

    def steps() -> Iterator[Scored]:
        acquired, cost = choose(
            run.acquisition,
            partial(rows.pool_inputs, loaded),
            candidates,
            scored.fitted.posterior,
            names,
            device,
        )
        results = _of_earlier_rounds(scored.results, rows.with_targets)
        results = replace(results, cost=results.cost + cost)
        chosen = replace(loaded, acquired=loaded.acquired + acquired, results=results)
        yield replace(scored.with_loaded(chosen), results=results)

    state = advanced(scored, steps())
    return state if isinstance(state, Failed) else rows.grown(state.loaded)


def _of_earlier_rounds(results: Results, scored: bool) -> Results:
    """Return the results with only the predictions that are stored for earlier rounds.

    Predictions that are not `scored` yet are all kept.
    """
    predictions = {n: r.stored for n, r in results.conditions.items() if r.stored is not None}
    stored = stored_of_earlier_rounds(predictions, limited=scored)
    conditions = {
        name: replace(result, stored=stored.get(name))
        for name, result in results.conditions.items()
    }
    return replace(results, conditions=conditions)


def acquire(
    acquisition: Acquisition,
    inputs: Callable[[Int[np.ndarray, " rows"]], Tensor],
    rows: Int[np.ndarray, " candidates"],
    posterior: Posterior,
    names: tuple[DataSource, int, int, int],
    device: torch.device,
) -> tuple[int, ...]:
    """Return the rows with the greatest scores, or random rows.

    `inputs` returns the inputs of rows under the scaling of the posterior's fit. `names` are
    source, fold, seed and round, which name the streams. Scores that are equal up to rounding are
    taken in the order of `rows`, which is random. Raises InferenceDiverged if a score is NaN.
    """
    rule = RULES[acquisition.rule]
    if rule is None:
        order = torch.randperm(len(rows), generator=stream("acquire", *names))
    else:
        pieces = []
        for chunk in np.split(rows, range(CANDIDATES_AT_ONCE, len(rows), CANDIDATES_AT_ONCE)):
            rng = stream("candidates", *names, device=device)  # equal draws for all chunks
            prediction = posterior.predict(inputs(chunk).to(device), rng)
            pieces.append(_scores(rule, prediction, len(chunk)))
        order = without_rounding(torch.cat(pieces)).argsort(descending=True, stable=True)
    return tuple(rows[order[: acquisition.batch].numpy()].tolist())


def without_rounding(scores: Float64[Tensor, " points"]) -> Float64[Tensor, " points"]:
    """Return the scores as multiples of the difference that rounding may cause."""
    largest = torch.where(scores.isfinite(), scores.abs(), 0.0).amax()
    return (scores / (SAME_SCORE * largest).clamp(min=LEAST_SCORE)).round()


def _scores(
    rule: Callable[[Any], Tensor], prediction: Predictive, rows: int
) -> Float64[Tensor, " points"]:
    if len(prediction) != rows:
        raise ValueError(f"{len(prediction)} predictions for {rows} candidates")
    scores = rule(prediction).detach().cpu()
    if scores.isnan().any():
        raise InferenceDiverged("predicts NaN for rows of the pool")
    check(prediction, rows)
    return scores
