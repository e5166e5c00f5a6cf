"""Scores of a posterior's predictions against the targets' data distribution."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from bnnbench.datasets.base import Dataset, Gaussian
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.base import Posterior
from bnnbench.methods.predictions.base import CannotAnswer, Predictive
from bnnbench.metrics import PROBED
from bnnbench.metrics.oracle import Law

ORACLE = ("excess_risk", "claimed_variance", "earned_variance", "epistemic_rank")


@dataclass(frozen=True)
class OracleScores:
    """Excess risk, and claimed and earned epistemic variance, with the exact posterior's."""

    def measure(
        self, posterior: Posterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return the scores under the data distribution, and the exact posterior's scores.

        Raises TypeError if the data distribution is unknown.
        """
        if dataset.truth is None or dataset.exact is None:
            raise TypeError("needed a known data distribution; see datasets.oracles.drawn.Drawn")
        law, exact = law_of(dataset), dataset.exact
        prediction = posterior.predict(dataset.test.inputs.to(rng.device), rng)
        earned = (exact.mean - law.truth).square().sum(1).mean()
        known = {
            "excess_risk": exact.excess_risk,
            "claimed_variance": float(exact.std.square().mean()),
            "earned_variance": float(earned),
        }
        return {
            condition_names.LAW: Measured(
                dict(_scores(prediction, law)), Traits("expected over the law")
            ),
            condition_names.EXACT: Measured(known, Traits("the exact posterior's, over the law")),
        }


def law_of(dataset: Dataset) -> Law:
    """Return the data distribution at the test points of a data set for which it is known."""
    likelihood, exact = dataset.likelihood, dataset.exact
    assert dataset.truth is not None
    assert exact is not None
    noise_std = likelihood.noise_std if isinstance(likelihood, Gaussian) else None
    return Law(dataset.truth.double(), noise_std, exact.std.double())


def _scores(prediction: Predictive, law: Law) -> Iterator[tuple[str, float]]:
    """Yield metrics with means over points, omitting metrics that raise `CannotAnswer`."""
    on_cpu = type(prediction).unpack(
        {n: torch.as_tensor(a).cpu() for n, a in prediction.pack().items()}
    )
    for name in ORACLE:
        try:
            yield name, float(PROBED[name].score(on_cpu, law).mean())
        except CannotAnswer:
            continue
