"""The scores of a search in progress."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem, Unsupported
from bnnbench.methods.predictions.base import HasLogProb, HasMean, HasProbabilities
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.noise import best_noise, densities
from bnnbench.methods.tuning.plan import Plan
from bnnbench.methods.tuning.rows import checksum, held_out, stream
from bnnbench.methods.tuning.search import Search
from bnnbench.methods.tuning.temperature import best_temperature, tempered


@dataclass(frozen=True)
class _BlockScores:
    log_likelihood: Sequence[float]
    error: Sequence[float]
    noise_variance: float = float("nan")
    temperature: float = float("nan")


class Tables:
    """The scores of all trials for one problem, filled in during its search."""

    def __init__(self, plan: Plan, problem: Problem) -> None:
        self.plan, self.problem = plan, problem
        self.name = checksum(problem.train)
        self.cases = held_out(problem, plan.blocks)
        cells = plan.trials, len(plan.lengths)
        self.log_likelihood = np.full((*cells, plan.blocks), np.nan)
        self.error = np.full((*cells, plan.blocks), np.nan)
        self.noise_variance = np.full(cells, np.nan)
        self.temperature = np.full(cells, np.nan)
        self.seconds = np.zeros(cells)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that are filled in, for checkpoints."""
        corrections = (self.noise_variance, self.temperature)
        return [self.log_likelihood, self.error, *corrections, self.seconds]

    def stream(self, use: str, block: int) -> torch.Generator:
        """Return a block's stream, which is the same for all trials and lengths."""
        device = self.problem.train.inputs.device
        seed = stream(use, self.name, block).initial_seed()
        return torch.Generator(device).manual_seed(seed)

    def alive(self, rung: int) -> list[int]:
        """Return the trials to fit at a length: all or, by halving, the best of the length before.

        A trial that diverged survives only if no other is left.
        """
        count = self.plan.survivors(rung)
        if rung == 0 or count == self.plan.trials:
            return list(range(self.plan.trials))
        scores = self.search().scores[:, rung - 1]
        before = self.alive(rung - 1)
        return sorted(sorted(before, key=lambda trial: (-scores[trial], trial))[:count])

    def score(
        self,
        trial: int,
        rung: int,
        posteriors: Sequence[Posterior | InferenceDiverged],
        seconds: float,
    ) -> None:
        """Store the scores of a trial's fits without each held-out block."""
        self.seconds[trial, rung] = seconds
        fitted = [p for p in posteriors if not isinstance(p, InferenceDiverged)]
        if len(fitted) < len(posteriors):
            return
        try:
            scores = self._scores(fitted)
        except InferenceDiverged:  # detected in predicting; the trial has no score
            return
        self.log_likelihood[trial, rung] = scores.log_likelihood
        self.error[trial, rung] = scores.error
        self.noise_variance[trial, rung] = scores.noise_variance
        self.temperature[trial, rung] = scores.temperature

    def search(self) -> Search:
        """Return the search so far, in the form of records."""
        plan = self.plan
        search = Search(
            plan.settings,
            plan.places,
            plan.lengths,
            tuple(len(case.block) for case in self.cases),
            *self.arrays,
        )
        return Search.from_data(search.as_data())  # a choice must not depend on unstored digits

    def _scores(self, posteriors: Sequence[Posterior]) -> _BlockScores:
        predictions = [
            case.in_original_units(posterior.predict(case.inputs, self.stream("predict", block)))
            for block, (case, posterior) in enumerate(zip(self.cases, posteriors, strict=True))
        ]
        for prediction in predictions:
            _require_log_prob(prediction)
        targets = [case.block.targets for case in self.cases]
        errors = [_error(p, y) for p, y in zip(predictions, targets, strict=True)]
        if self.plan.held_out_noise:
            return _with_held_out_noise(predictions, targets, errors)
        if self.plan.held_out_temperature:
            return _with_held_out_temperature(predictions, targets, errors)
        log_likelihoods = []
        for prediction, target in zip(predictions, targets, strict=True):
            assert isinstance(prediction, HasLogProb)
            log_likelihoods.append(float(prediction.log_prob(target).mean()))
        return _BlockScores(log_likelihoods, errors)


def _require_log_prob(prediction: object) -> None:
    """Raise `Unsupported` for predictions that do not allow a choice."""
    if not isinstance(prediction, HasLogProb):
        raise Unsupported(
            "Tuned chooses settings by the log likelihood of held-out rows, which "
            f"{type(prediction).__name__} lacks; use a profile with fixed settings"
        )


def _error(prediction: object, targets: Tensor) -> float:
    """Return the mean squared error, or the share of wrong labels."""
    if isinstance(prediction, HasProbabilities):
        labels = prediction.mixture_log_probs.argmax(1)
        return float((labels != targets).double().mean())
    assert isinstance(prediction, HasMean)
    return float((prediction.mean - targets).square().mean())


def _with_held_out_temperature(
    predictions: Sequence[object], targets: Sequence[Tensor], errors: Sequence[float]
) -> _BlockScores:
    """Return scores with the one temperature that all held-out rows prefer."""
    log_probs = []
    for prediction in predictions:
        assert isinstance(prediction, HasProbabilities)
        log_probs.append(prediction.mixture_log_probs.double())
    temperature = best_temperature(torch.cat(log_probs), torch.cat(list(targets)))
    chosen = [tempered(block, temperature) for block in log_probs]
    means = [
        float(block.gather(1, labels.long()[:, None]).mean())
        for block, labels in zip(chosen, targets, strict=True)
    ]
    return _BlockScores(means, errors, temperature=temperature)


def _with_held_out_noise(
    predictions: Sequence[object], targets: Sequence[Tensor], errors: Sequence[float]
) -> _BlockScores:
    """Return scores with the one noise variance that all held-out rows prefer."""
    residuals, trained = [], []
    for prediction, target in zip(predictions, targets, strict=True):
        assert isinstance(prediction, GaussianPredictive)
        trained.append(float(prediction.variances.double().mean()))
        residuals.append(target.double() - prediction.means.double())
    joined = torch.cat(residuals, dim=1)
    if not bool(joined.isfinite().all()):
        return _BlockScores([float("nan")] * len(targets), errors)
    noise = best_noise(joined, float(np.mean(trained)))
    means = [float(densities(part, float(np.log(noise))).mean()) for part in residuals]
    return _BlockScores(means, errors, noise)
