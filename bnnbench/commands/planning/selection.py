"""The part of a suite requested on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bnnbench.commands.running.arguments import Options
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.declare.probe import with_samples
from bnnbench.engine.method_settings.expressions import Spelled
from bnnbench.engine.method_settings.files import read
from bnnbench.engine.method_settings.requested import with_methods
from bnnbench.metrics import METRICS
from bnnbench.wording import UnknownMethod, UsageError, did_you_mean, listed, nearest


def selected(suite: Suite, options: Options, profiles: Mapping[str, Suite] = {}) -> Suite:
    """Return the suite limited to the requested methods, data sets, folds and seeds."""
    changes: dict[str, Any] = {}
    if requests := (*(options.methods or ()), *_from_file(options.settings)):
        try:
            changes = with_methods(suite, requests)
        except UsageError as error:
            reason = _in_other_profiles(error, suite, profiles) or error
            raise UsageError(f"{options.flags_of_methods}: {reason}") from error
    if options.datasets:
        changes |= {"cases": cases_named(suite, options.datasets, profiles), "optional": ()}
    if options.seeds:
        changes["seeds"] = options.seeds
    if options.folds:
        changes["folds"] = options.folds
    if options.samples:
        changes["probes"] = with_samples(suite.probes, options.samples)
    try:
        selection = replace(suite, **changes)
    except ValueError as error:
        raise UsageError(f"{options.flags_of_methods}: {error}") from error
    for name in {name for e in selection.evaluations for name in e.metrics} - set(METRICS):
        raise UsageError(f"suite {suite.name} asks for a metric " + nearest(name, METRICS))
    return selection


def cases_named(
    suite: Suite, names: Sequence[str], profiles: Mapping[str, Suite]
) -> tuple[Case, ...]:
    """Return the cases of these names. Raises `UsageError`, naming the profiles that have one."""
    cases = {case.name.casefold(): case for case in suite.cases}
    for name in names:
        if name.casefold() not in cases:
            raise UsageError(f"--datasets: {_not_in_profile(name, suite, profiles)}")
    requested = {name.casefold() for name in names}
    return tuple(case for name, case in cases.items() if name in requested)


def _in_other_profiles(error: UsageError, suite: Suite, profiles: Mapping[str, Suite]) -> str:
    """Return a message if other profiles have a method that is unknown here, else ""."""
    if not isinstance(error, UnknownMethod):
        return ""
    elsewhere = _having(error.name, {name: of.methods for name, of in profiles.items()})
    return elsewhere and f"{error.name!r} is not in the {suite.profile} profile; {elsewhere}"


def _not_in_profile(name: str, suite: Suite, profiles: Mapping[str, Suite]) -> str:
    """Return a message with the data sets of this profile and the profiles that have `name`."""
    cases = [case.name for case in suite.cases]
    text = f"{name!r} is not in the {suite.profile} profile, which has {listed(cases)}"
    of_profiles = {
        profile: [case.name for case in other.cases] for profile, other in profiles.items()
    }
    if elsewhere := _having(name, of_profiles):
        return f"{text}; {elsewhere}"
    hint = did_you_mean(name, cases)
    return f"{text}{hint and f'; {hint}'}"


def _having(name: str, profiles: Mapping[str, Iterable[str]]) -> str:
    """Return a phrase with the profiles that have a name; "" if none has it."""
    having = [
        profile
        for profile, names in profiles.items()
        if name.casefold() in {known.casefold() for known in names}
    ]
    return f"it is in {listed(having)} (--profile)" if having else ""


def _from_file(file: Path | None) -> tuple[Spelled, ...]:
    """Return the methods of a settings file. Raises UsageError."""
    try:
        return read(file) if file else ()
    except (UsageError, OSError) as error:
        raise UsageError(f"--settings: {error}") from error
