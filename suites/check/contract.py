"""The checks, and where each applies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.methods.coverage import MLPS
from bnnbench.suites.check import of_fits, of_many, of_methods


@dataclass(frozen=True)
class Check:
    """A sentence of the contract; `run` raises `Broken` where a method does not keep it."""

    run: Callable[[Any], None]
    applies: Callable[[str, Sequence[str]], bool] = lambda kind, covered: True
    """True if the check applies to a kind of problem, given all kinds that the method takes."""

    @property
    def title(self) -> str:
        """The sentence, without its full stop."""
        return (self.run.__doc__ or "").strip().removesuffix(".")


OF_METHODS = (
    Check(of_methods.has_plain_settings),
    Check(of_methods.has_settings_of_their_types),
    Check(of_methods.travels),
)
"""Checks of a method itself."""

OF_FITS = (
    Check(of_fits.has_the_form_of_the_protocols),
    Check(of_fits.repeats_by_an_equal_stream),
    Check(of_fits.predicts_again_the_same),
    Check(of_fits.predicts_in_halves),
    Check(of_fits.permutes_with_the_points),
    Check(of_fits.leaves_global_generators),
    Check(of_fits.leaves_training_data),
    Check(of_fits.predicts_every_point),
    Check(of_fits.predicts_distributions),
    Check(of_fits.has_finite_diagnostics),
    Check(of_fits.survives_the_store),
    Check(of_fits.says_that_it_has_no_gradient),
    Check(of_fits.has_the_gradient_of_its_probabilities),
)
"""Checks of `Fits` of any method."""

OF_MANY = (
    Check(of_many.equals_fits_alone),
    Check(of_many.equals_fits_alone_in_float64),
    Check(of_many.is_not_coupled_by_the_last_batch, lambda kind, covered: kind in MLPS),
    Check(of_many.does_not_depend_on_company),
    Check(of_many.shares_data_between_seeds, lambda kind, covered: kind == covered[0]),
    Check(of_many.fails_alone),
)
"""Checks of `Fits` of a method that has `fit_many`."""
