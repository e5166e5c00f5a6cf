"""Another network whose gradient an attack follows, so that black boxes can be attacked too."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import torch

from bnnbench.datasets.base import DataSource
from bnnbench.engine.declare.description import describe, digest
from bnnbench.engine.declare.streams import stream
from bnnbench.methods.base import (
    Differentiable,
    InferenceDiverged,
    Method,
    NotDifferentiable,
    Problem,
    differentiable,
)
from bnnbench.methods.networks.architectures import Architecture

FITS_IN_MEMORY = 2


@dataclass(frozen=True)
class Surrogate:
    """A fit attacked in place of the posteriors, one for all runs of a fold.

    Adversarial inputs often transfer between networks (Papernot et al., 2016). If a posterior
    withstands attacks on itself but not attacks on a surrogate, its gradient is masked.
    """

    name: str
    """Its name within an attack's name."""
    method: Method
    architecture: Architecture | Mapping[str, Architecture]
    """One network for all, or networks by source name, with "default" for the rest."""

    def fitted(self, source: DataSource, fold: int, device: torch.device) -> Differentiable:
        """Return the surrogate's posterior; the latest few are cached.

        Raises `NotDifferentiable` if it has no gradient or its fit diverged.
        """
        return _fitted(_Fit(self, source, fold, str(device)))

    def network_for(self, source: DataSource) -> Architecture:
        """Return the surrogate's network for a source."""
        if isinstance(self.architecture, Mapping):
            default = self.architecture.get("default", ())
            return self.architecture.get(source.name, default)
        return self.architecture


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit, equal to another if all settings are equal."""

    surrogate: Surrogate
    source: DataSource
    fold: int
    device: str

    @property
    def _settings(self) -> str:
        return digest(describe([self.surrogate, self.source, self.fold, self.device]))

    def __hash__(self) -> int:
        return hash(self._settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fit) and self._settings == other._settings


@lru_cache(FITS_IN_MEMORY)
def _fitted(fit: _Fit) -> Differentiable:
    device, source = torch.device(fit.device), fit.source
    data = source.load(fit.fold)
    problem = Problem(data.train.to(device), data.likelihood, fit.surrogate.network_for(source))
    rng = stream("surrogate", source, fit.fold, device=device)
    try:
        return differentiable(fit.surrogate.method.fit(problem, rng))
    except InferenceDiverged as error:
        raise NotDifferentiable(f"the fit of {fit.surrogate.name} diverged: {error}") from error
