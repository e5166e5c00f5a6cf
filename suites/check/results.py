"""Checks of a method on every kind of problem that it accepts, and their results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bnnbench.methods.base import BatchedMethod, Unsupported
from bnnbench.suites.check.contract import OF_FITS, OF_MANY, OF_METHODS, Check
from bnnbench.suites.check.fits import Fits, explained
from bnnbench.suites.check.odd_answers import OddAnswer, odd_answers
from bnnbench.suites.check.problems import problems_of, stream

FITS = "The method fits a problem and predicts, or fit raises Unsupported, saying what it needs"
CURE = "if the method does not support such problems, let fit raise Unsupported"
ANY = "The method accepts at least one kind of problem"


@dataclass(frozen=True)
class Result:
    """A sentence of the contract, and where it was violated."""

    title: str
    checked: tuple[str, ...] = ()
    """Kinds of problems; empty if the check needs none or does not apply."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Kind of problem, or "" for a check without problems → the finding."""
    reason: str = ""
    """Reason why the check does not apply; "" if it does."""


@dataclass(frozen=True)
class Results:
    """The results of all checks of a method."""

    checks: tuple[Result, ...]
    taken: tuple[str, ...]
    """Kinds of problems that the method was fitted to."""
    refused: Mapping[str, str]
    """Kind of problem → the message with which the method refused it."""
    odd: tuple[OddAnswer, ...] = ()
    """The answers to odd problems."""

    @property
    def failed(self) -> list[Result]:
        """The sentences that the method violates."""
        return [result for result in self.checks if result.failures]

    @property
    def faults(self) -> dict[str, OddAnswer]:
        """The odd problems that end in a fault → their last such answer."""
        return {answer.problem: answer for answer in self.odd if answer.state == "fault"}


def checked(method: Any, report: Callable[[str], None] = lambda title: None) -> Results:
    """Return the results of all checks of a method; `report` receives each title beforehand."""
    fits = {kind: Fits(method, make) for kind, make in problems_of(method).items()}
    report(FITS)
    refused, failed = {}, {}
    for kind, one in fits.items():
        try:
            one.posterior.predict(one.inputs, stream(2))
        except Unsupported as error:
            refused[kind] = str(error)
        except (Exception, SystemExit) as error:  # a method may raise anything
            failed[kind] = f"{explained(error)}; {CURE}"
    taken = tuple(kind for kind in fits if kind not in {*refused, *failed})
    results = [Result(FITS, tuple(fits), failed)]
    if not taken and not failed:
        results.append(
            Result(ANY, failures={"": f"it refuses all: {next(iter(refused.values()))}"})
        )
    for check in OF_METHODS:
        report(check.title)
        reason = failure(check, method)
        results.append(Result(check.title, failures={"": reason} if reason else {}))
    results += _of_fits({kind: fits[kind] for kind in taken}, OF_FITS, "", report)
    lacks = "" if isinstance(method, BatchedMethod) else "it has no fit_many"
    results += _of_fits({kind: fits[kind] for kind in taken}, OF_MANY, lacks, report)
    report("Odd problems")
    return Results(tuple(results), taken, refused, tuple(odd_answers(method, taken)))


def _of_fits(
    fits: Mapping[str, Fits], checks: Sequence[Check], lacks: str, report: Callable[[str], None]
) -> Iterator[Result]:
    for check in checks:
        kinds = tuple(kind for kind in fits if check.applies(kind, tuple(fits)))
        reason = lacks or ("" if kinds else "it accepts no such problem")
        if reason:
            yield Result(check.title, reason=reason)
            continue
        report(check.title)
        reasons = {kind: failure(check, fits[kind]) for kind in kinds}
        failures = {kind: reason for kind, reason in reasons.items() if reason}
        yield Result(check.title, kinds, failures)


def failure(check: Check, value: Any) -> str:
    """Return the fault that a check found; "" if none."""
    try:
        check.run(value)
    except (Exception, SystemExit) as error:  # a method may raise anything
        return explained(error)
    return ""
