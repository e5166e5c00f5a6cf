"""The checks of a method on which the scoring of its predictions relies."""

from collections.abc import Sequence
from typing import Any

from bnnbench.methods.base import PackageMissing, Unsupported
from bnnbench.suites.check import fit_checks
from bnnbench.suites.check.contract import Check
from bnnbench.suites.check.fits import Fits, explained
from bnnbench.suites.check.problems import problems_of, stream
from bnnbench.suites.check.results import failure
from bnnbench.suites.check.small import quick

CHECKS = (
    Check(fit_checks.has_the_form_of_the_protocols),
    Check(fit_checks.predicts_every_point),
    Check(fit_checks.predicts_distributions),
    Check(fit_checks.gives_answers_of_one_distribution),
    Check(fit_checks.survives_the_store),
)


def first_fault(method: Any, kinds: Sequence[str]) -> str:
    """Return the fault that prevents scoring a method's predictions; "" if there is none.

    The method is fitted to small problems of these kinds (`bnnbench.methods.card`), with small
    settings and, if these fail, with its own. One accepted kind is enough; if none is accepted, the
    first fault is returned, or else its first reason for refusing them. A method whose packages are
    missing here, but perhaps not where it is fitted, has no fault.
    """
    faults, refusals = [], []
    for variant in (quick(method), method):
        for kind in kinds:
            try:
                fault = _fault(Fits(variant, problems_of(variant)[kind]))
            except Unsupported as error:
                refusals.append(str(error))
            except PackageMissing:
                return ""
            except (Exception, SystemExit) as error:  # a method may raise anything
                faults.append(explained(error))
            else:
                if not fault:
                    return ""
                faults.append(fault)
    return next(iter((*faults, *refusals)), "")


def _fault(fits: Fits) -> str:
    """Return the first rule that a fit violates, "" if none; raises what the method raises."""
    posterior = fits.posterior
    form, *others = CHECKS
    if reason := failure(form, fits):
        return reason
    posterior.predict(fits.inputs, stream(2))
    return next(filter(None, (failure(check, fits) for check in others)), "")
