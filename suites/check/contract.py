"""The checks, and when each applies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.suites.check import fit_checks, method_checks


@dataclass(frozen=True)
class Check:
    """A sentence of the contract; `run` raises `Broken` if a method violates it."""

    run: Callable[[Any], None]
    applies: Callable[[str, Sequence[str]], bool] = lambda kind, covered: True
    """True if the check applies to a kind of problem, given all kinds that the method accepts."""

    @property
    def title(self) -> str:
        """The sentence, without its full stop."""
        return (self.run.__doc__ or "").strip().removesuffix(".")


OF_METHODS = (
    Check(method_checks.has_plain_settings),
    Check(method_checks.has_settings_of_their_types),
    Check(method_checks.travels),
)
"""Checks of a method itself."""

OF_FITS = (
    Check(fit_checks.has_the_form_of_the_protocols),
    Check(fit_checks.repeats_by_an_equal_stream),
    Check(fit_checks.predicts_again_the_same),
    Check(fit_checks.predicts_in_halves),
    Check(fit_checks.permutes_with_the_points),
    Check(fit_checks.leaves_global_generators),
    Check(fit_checks.leaves_training_data),
    Check(fit_checks.predicts_every_point),
    Check(fit_checks.predicts_distributions),
    Check(fit_checks.gives_answers_of_one_distribution),
    Check(fit_checks.has_finite_diagnostics),
    Check(fit_checks.survives_the_store),
    Check(fit_checks.says_that_it_has_no_gradient),
    Check(fit_checks.has_the_gradient_of_its_probabilities),
)
"""Checks of `Fits`, for any method."""

OF_MANY = (
    Check(method_checks.equals_fits_alone),
    Check(method_checks.equals_fits_alone_in_float64),
    Check(method_checks.is_not_coupled_by_the_last_batch, lambda kind, covered: "mlp" in kind),
    Check(method_checks.does_not_depend_on_company),
    Check(method_checks.shares_data_between_seeds, lambda kind, covered: kind == covered[0]),
    Check(method_checks.fails_alone),
)
"""Checks of `Fits`, for a method with `fit_many`."""
