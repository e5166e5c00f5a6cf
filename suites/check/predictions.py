"""Whether the predictions of a method can be scored: what a search needs, in a second."""

from collections.abc import Sequence
from typing import Any

from bnnbench.methods.base import Unsupported
from bnnbench.suites.check import of_fits
from bnnbench.suites.check.contract import Check
from bnnbench.suites.check.fits import Fits
from bnnbench.suites.check.problems import PROBLEMS
from bnnbench.suites.check.results import explained, failure
from bnnbench.suites.check.small import quick

CHECKS = (
    Check(of_fits.has_the_form_of_the_protocols),
    Check(of_fits.predicts_every_point),
    Check(of_fits.predicts_distributions),
    Check(of_fits.survives_the_store),
)


def first_fault(method: Any, kinds: Sequence[str]) -> str:
    """Return what keeps a method's predictions from being scored, "" for nothing.

    It is fitted, with small settings, to the small problem of the first kind that it takes
    (`bnnbench.methods.coverage`); where it takes none, its reason for the first is returned.
    """
    refusals: list[str] = []
    for kind in kinds:
        fits = Fits(quick(method), PROBLEMS[kind])
        try:
            fits.posterior  # noqa: B018 (it is fitted now)
        except Unsupported as error:
            refusals.append(str(error))
            continue
        except Exception as error:  # whatever a method does
            return explained(error)
        return next(filter(None, (failure(check, fits) for check in CHECKS)), "")
    return next(iter(refusals), "")
