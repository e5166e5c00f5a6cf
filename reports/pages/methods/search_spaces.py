"""The settings of a method that tuned profiles search, as declared by its class."""

from collections.abc import Sequence

from bnnbench.commands.method_settings.settings import constructed
from bnnbench.commands.methods import described
from bnnbench.commands.terminal.usage_errors import UsageError
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.tuning.space import Space


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
    settings = [(path, described(law)) for path, law in space.fields.items()]
    given = ", ".join(map(str, space.lengths))
    lengths = given or "successive doublings, by the number of rows"
    return [*settings, (space.length, lengths)] if space.length else settings
