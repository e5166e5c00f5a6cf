"""Number of times a fit visits the training rows, as far as its method's settings tell."""

from collections.abc import Mapping


def epochs_in(settings: object) -> float | None:
    """Return the maximum number of epochs in a method's settings, at any depth; None if absent."""
    if not isinstance(settings, Mapping):
        return None
    epochs = settings.get("epochs")
    if isinstance(epochs, int | float) and epochs > 0:
        return float(epochs)
    inner_epochs = [inner for value in settings.values() if (inner := epochs_in(value)) is not None]
    return max(inner_epochs, default=None)


def row_visits(run: Mapping[str, object], rows: int) -> float | None:
    """Return the number of row visits of a described run.

    None for a method without epochs, whose time need not be proportional to row visits: the time
    of a Gaussian process grows with the cube of the rows.
    """
    epochs = epochs_in(run["method"])
    rule = run.get("acquisition")
    rounds = rule.get("rounds", 0) if isinstance(rule, Mapping) else 0
    rounds = rounds if isinstance(rounds, int | float) else 0
    return None if epochs is None else max(rows, 1) * epochs * (1 + rounds)
