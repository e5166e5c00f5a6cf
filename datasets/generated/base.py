"""The base of all generated sources, which need neither files nor a licence."""

import dataclasses

import torch
from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.base import Dataset, Gaussian, Scaling, Split, Target
from bnnbench.datasets.facts import Rows, facts_of
from bnnbench.datasets.origins import Origin


class Generated:
    """A source whose rows are drawn from a distribution; subclasses load them."""

    licence = "none needed: generated"
    bytes = 0

    @property
    def origin(self) -> Origin:
        """The origin "generated": drawn from a distribution."""
        return "generated"

    def missing(self) -> tuple[str, ...]:
        """Return nothing: there are no files."""
        return ()

    def fetch(self) -> None:
        """Return at once: there are no files."""

    def fallbacks(self) -> tuple[()]:
        """Return no fallbacks: none is needed."""
        return ()


class GeneratedRegression(Generated):
    """A generated source with a real target."""

    target = ("y", "")

    def unscaled(
        self,
        train: Rows,
        test: Rows,
        truth: Float[ndarray, " points"],
        noise_std: float,
        law: str,
        dtype: torch.dtype,
    ) -> Dataset:
        """Return a fold in the distribution's units, with the noise that methods are given."""
        features = train[0].shape[1]
        dataset = Dataset(
            train=_split(train, dtype),
            test=_split(test, dtype),
            likelihood=Gaussian(noise_std),
            origin=self.origin,
            scaling=Scaling(torch.zeros(features), torch.ones(features)),
            target=Target(*self.target, 0.0, 1.0),
            truth=torch.from_numpy(truth).to(dtype)[:, None],
        )
        facts = facts_of(dataset, train, test, self.licence)
        return dataclasses.replace(dataset, facts={**facts, "law": law})


def _split(rows: Rows, dtype: torch.dtype) -> Split:
    inputs, targets = (torch.from_numpy(values).to(dtype) for values in rows)
    return Split(inputs, targets[:, None])
