"""The answers of a method to odd problems: numbers, a refusal, a mark or a fault."""

import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bnnbench.engine.records.record import has_converged
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Problem, Unsupported
from bnnbench.suites.check.fits import explained
from bnnbench.suites.check.odd_problems import ODD, Odd
from bnnbench.suites.check.problems import problems_of, stream
from bnnbench.suites.check.soundness import require_sound

State = Literal["fine", "refused", "marked", "fault"]
"""fine: a sound prediction. refused: `Unsupported`, with a reason. marked: inference diverged, or
its diagnostics say that it did not converge. fault: anything else."""

KINDS = ("mlp regression", "linear regression"), ("mlp classification",)
"""Kinds of problems that are made odd: the first of each that the method takes."""


@dataclass(frozen=True)
class OddAnswer:
    """A method's answer to an odd problem."""

    problem: str
    kind: str
    state: State
    reason: str = ""
    """The method's message or the fault; "" for a sound prediction."""


def odd_answers(method: Any, taken: Iterable[str]) -> Iterator[OddAnswer]:
    """Yield the method's answers to odd problems of the kinds that it takes."""
    kinds = [next((kind for kind in of if kind in taken), "") for of in KINDS]
    for name, odd in ODD.items():
        for kind in filter(None, kinds):
            problem = problems_of(method)[kind](0)
            if odd.applies(problem):
                yield OddAnswer(name, kind, *_answer(method, problem, odd))


def _answer(method: Any, problem: Problem, odd: Odd) -> tuple[State, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converged = _converged(method, odd.change(problem), odd)
    except PackageMissing:
        raise
    except Unsupported as error:
        return ("refused", str(error)) if str(error) else ("fault", "Unsupported without a reason")
    except InferenceDiverged as error:
        return "marked", f"diverged: {error}"
    except (Exception, SystemExit) as error:  # a method may raise anything
        refused = _is_refusal(error, method)
        return ("refused", f"{error} (as ValueError)") if refused else ("fault", explained(error))
    return ("fine", "") if converged else ("marked", "did not converge")


def _is_refusal(error: BaseException, method: Any) -> bool:
    """Return whether a method's own file raises a ValueError with a message, not as Unsupported."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    in_its_file = place.filename == sys.modules[type(method).__module__].__file__
    return type(error) is ValueError and in_its_file and bool(str(error))


def _converged(method: Any, problem: Problem, odd: Odd) -> bool:
    """Return whether a fit converged as far as it says; raises unless its prediction is sound."""
    posterior = method.fit(problem, stream(1))
    inputs = odd.inputs(problem.train.inputs)
    require_sound(posterior.predict(inputs, stream(2)), problem, len(inputs))
    return has_converged({name: float(v) for name, v in posterior.diagnostics.items()})
