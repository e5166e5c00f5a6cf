"""The recipe of a reference: a model, and the sampler that is run on it twice."""

from dataclasses import dataclass

from bnnbench.methods.hmc.method import Hmc
from bnnbench.suites.truth.references.model import Model

SEEDS = (0, 1)
"""Seeds of the run whose draws are stored, and of its repetition."""


@dataclass(frozen=True)
class Recipe:
    """A model and the settings of its sampler."""

    model: Model
    sampler: Hmc
