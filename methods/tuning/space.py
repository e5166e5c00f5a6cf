"""Search spaces: plain data that a method declares as its class variable `space`."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

Configured = TypeVar("Configured")

MOST_FIELDS = 8
"""Maximum number of fields in a space: the dimensions of the sequence of trials."""


@dataclass(frozen=True)
class Log:
    """Uniform in the logarithm."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """Return the value at a position 0 <= u <= 1."""
        return math.exp(math.log(self.low) + u * math.log(self.high / self.low))

    def place(self, value: float) -> float:
        """Return the position of a value."""
        return math.log(value / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True)
class OneMinusLog:
    """One minus a value that is uniform in the logarithm between the bounds, as for momenta."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """Return the value at a position 0 <= u <= 1."""
        return 1 - Log(self.low, self.high).at(u)

    def place(self, value: float) -> float:
        """Return the position of a value."""
        return Log(self.low, self.high).place(1 - value)


@dataclass(frozen=True)
class Integers:
    """Integers from `low` to `high`, inclusive, uniform in the logarithm or on the linear scale."""

    low: int
    high: int
    log: bool = True

    def at(self, u: float) -> int:
        """Return the value at a position 0 <= u <= 1."""
        if self.log:
            value = math.floor(Log(self.low, self.high + 1).at(u))
        else:
            value = self.low + math.floor(u * (self.high - self.low + 1))
        return min(max(value, self.low), self.high)

    def place(self, value: int) -> float:
        """Return the midpoint of a value's positions."""
        if self.log:
            ends = [Log(self.low, self.high + 1).place(end) for end in (value, value + 1)]
            return sum(ends) / 2
        return (value - self.low + 0.5) / (self.high - self.low + 1)


@dataclass(frozen=True)
class Choice:
    """One of several values, all equally likely."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """Return the value at a position 0 <= u <= 1."""
        return self.values[min(math.floor(u * len(self.values)), len(self.values) - 1)]

    def place(self, value: Any) -> float:
        """Return the midpoint of a value's positions."""
        return (self.values.index(value) + 0.5) / len(self.values)


@dataclass(frozen=True)
class Single:
    """A tuple with a single value from another distribution."""

    of: Log | OneMinusLog | Integers | Choice

    def at(self, u: float) -> tuple[Any]:
        """Return the value at a position 0 <= u <= 1."""
        return (self.of.at(u),)

    def place(self, value: tuple[Any]) -> float:
        """Return the position of a value."""
        return self.of.place(value[0])


Law = Log | OneMinusLog | Integers | Choice | Single
"""The distribution of a setting."""


@dataclass(frozen=True)
class Space:
    """The settings of a method that are searched, and the distribution of each.

    Batch size, schedule, draws, architecture, and anything that defines the target of inference
    are fixed for all methods and in no space. Without fields and length, nothing is searched.
    """

    fields: Mapping[str, Law] = field(default_factory=dict)
    """Path of a setting, such as "training.learning_rate" → its distribution."""
    length: str | None = None
    """Path of the number of epochs, passes or rounds, or of a tuple with this number."""
    lengths: tuple[int, ...] = ()
    """Lengths to try; empty for gradient descent, whose lengths depend on the number of rows."""
    learned_noise: bool = False
    """True if a regression's noise is one number that is learned in training."""

    def __post_init__(self) -> None:
        if len(self.fields) > MOST_FIELDS:
            raise ValueError(f"a space has at most {MOST_FIELDS} fields; got {len(self.fields)}")
        parts = [last_part(path) for path in self.fields]
        if len(set(parts)) < len(parts):
            raise ValueError(f"two fields of a space have the same last part: {', '.join(parts)}")

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to search."""
        return not self.fields and self.length is None


def compose(path: str, inner: Space, outer: Space | None = None) -> Space:
    """Return the space of a method that wraps another, which is its setting `path`.

    The inner fields come first, so that trial i of the wrapper contains trial i of the inner one.
    """
    outer = outer or Space(learned_noise=inner.learned_noise)
    return Space(
        {f"{path}.{name}": law for name, law in inner.fields.items()} | dict(outer.fields),
        outer.length or (inner.length and f"{path}.{inner.length}"),
        outer.lengths or inner.lengths,
        outer.learned_noise,
    )


def space_of(method: object) -> Space:
    """Return the space that a method declares; raises TypeError if there is none."""
    space = getattr(method, "space", None)
    if not isinstance(space, Space):
        name = type(method).__name__
        raise TypeError(
            f"{name} declares no search space. In class {name} write, for example,\n"
            '    space: ClassVar[Space] = Space({"learning_rate": Log(1e-4, 1e-1)}, '
            'length="epochs")\n'
            "with Log and Space from bnnbench.methods.tuning.space; Space() has no settings"
        )
    return space


def for_trained(space: Space) -> Space:
    """Return the space of a method that continues from trained weights.

    Learning rates that suit random weights spoil them: the distributions begin a hundred times
    lower, and end ten times lower.
    """
    laws = {
        path: Log(law.low / 100, law.high / 10)
        if last_part(path) == "learning_rate" and isinstance(law, Log)
        else law
        for path, law in space.fields.items()
    }
    return replace(space, fields=laws)


def last_part(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition(".")[2]


def setting(method: Any, path: str) -> Any:
    """Return the setting at a path."""
    for name in path.split("."):
        method = getattr(method, name)
    return method


def configured(method: Configured, settings: Mapping[str, Any]) -> Configured:
    """Return the method with other settings, by their paths; raises the errors of their checks.

    A number for a setting that is a tuple becomes a tuple of this number.
    """
    for path, value in settings.items():
        method = _replaced(method, path, value)
    return method


def _replaced(method: Any, path: str, value: Any) -> Any:
    name, _, rest = path.partition(".")
    if name not in {field.name for field in dataclasses.fields(method)}:
        raise ValueError(f"{type(method).__name__} has no setting {name}")
    present = getattr(method, name)
    if rest:
        value = _replaced(present, rest, value)
    elif isinstance(present, tuple) and not isinstance(value, tuple):
        value = (value,)
    return replace(method, **{name: value})
