"""The method of an estimator, from its name and settings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.engine.method_settings.expressions import parsed
from bnnbench.engine.method_settings.registry import class_of
from bnnbench.engine.method_settings.settings import changed, constructed
from bnnbench.methods.base import Method
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import space_of
from bnnbench.wording import UsageError


def method_of(method: str | Method, settings: Mapping[str, Any]) -> Method:
    """Return the method of a name, or an instance, with settings.

    The name may have settings, too: "ivon(epochs=50)". Raises `UsageError`, a ValueError, for a
    name or a setting that does not exist, with the nearest one, and for a value of another type.
    """
    if isinstance(method, type):
        raise UsageError(f"method is the class {method.__name__}: give its name, or an instance")
    given = {name.replace("__", "."): _plain(value) for name, value in settings.items()}
    if not isinstance(method, str):
        return _checked(changed(method, given) if given else method)
    spelled = parsed(method)
    return _checked(constructed(class_of(spelled.name), {**spelled.settings, **given}))


def tuned(method: Method, settings: Mapping[str, Any], likelihood: Likelihood) -> Tuned:
    """Return the method with its settings searched as on the board: same space, same budget.

    Raises `UsageError` for a setting that the search would replace.
    """
    space = space_of(method)
    searched = {*space.fields, space.length}
    if useless := [name for name in settings if name.replace("__", ".") in searched]:
        raise UsageError(f"{useless[0]} has no effect, because tune=True searches for it")
    budgets = _budgets(isinstance(likelihood, Categorical))
    alike = [one for one in budgets if type(one.method) is type(method)]
    return replace((alike or budgets)[0], method=method)


def _budgets(of_classes: bool) -> list[Tuned]:
    """Return the methods of the board's league, with the budgets of their searches."""
    if of_classes:
        from bnnbench.suites.uci_classification.tuned import TUNED_QUICK as league
    else:
        from bnnbench.suites.uci.tuned import LEAGUE as league
    return [method for method in league.methods.values() if isinstance(method, Tuned)]


def _checked(method: Any) -> Method:
    if not isinstance(method, Method):
        raise UsageError(f"{method!r} is no method: it has no fit(problem, rng)")
    return method


def _plain(value: Any) -> Any:
    """Return a setting as Python's own number or tuple, as searches of scikit-learn give others."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list | np.ndarray) else value
