"""The settings of a method that tuned profiles search, as declared by its class."""

from collections.abc import Sequence

from bnnbench.engine.method_settings.settings import constructed
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.tuning.space import Choice, Integers, Log, OneMinusLog, Single, Space
from bnnbench.wording import UsageError, listed


def searched(name: str) -> Sequence[tuple[str, str]] | None:
    """Return path and distribution of each searched setting, the length of a fit last.

    None if the method cannot be imported here. Classes are imported, unlike by `about`.
    """
    try:
        kind = method_type(METHODS[name])
    except ImportError:
        return None
    try:
        instance: object = constructed(kind, {})
    except UsageError:  # settings without defaults
        instance = kind
    space = getattr(instance, "space", None)
    if not isinstance(space, Space) or space.is_empty:
        return []
    return searched_in(space)


def searched_in(space: Space) -> Sequence[tuple[str, str]]:
    """Return path and distribution of each setting in a space, the length of a fit last."""
    settings = [(path, _described(law)) for path, law in space.fields.items()]
    given = ", ".join(map(str, space.lengths))
    lengths = given or "successive doublings, by the number of rows"
    return [*settings, (space.length, lengths)] if space.length else settings


def _described(law: object) -> str:
    """Describe the search distribution of a setting."""
    match law:
        case Log(low, high):
            return f"{low:g} to {high:g}, log-uniform"
        case OneMinusLog(low, high):
            return f"{1 - high:g} to {1 - low:g}, one minus it log-uniform"
        case Integers(low, high, log):
            return f"whole numbers from {low} to {high}{', log-uniform' if log else ''}"
        case Choice(values):
            return f"one of {listed(map(repr, values), 'or')}"
        case Single(of):
            return f"a tuple of one: {_described(of)}"
    return str(law)
