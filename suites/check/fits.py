"""The fits of one method to one kind of problem, which checks compare."""

import dataclasses
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from bnnbench.engine.run.guards.validation import ANSWERS
from bnnbench.engine.run.packing import vars_of
from bnnbench.methods.base import InferenceDiverged, Method, PackageMissing, Problem
from bnnbench.methods.predictions.base import Predictive
from bnnbench.suites.check.problems import stream, streams

Arrays = Mapping[str, Tensor]


class Broken(Exception):
    """A method violates its contract; the message states its behaviour and the remedy."""


@dataclass(frozen=True)
class Repetition:
    """A second fit and prediction, with their side effects."""

    posterior: Any
    moved_generators: tuple[str, ...]
    """The libraries whose global generators were advanced."""
    changed_data: tuple[str, ...]


@dataclass(frozen=True)
class Fits:
    """Fits of a method to problems of one kind, each run on first use."""

    method: Any
    make: Callable[..., Problem]
    """Makes a problem from a seed."""
    _alone: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def problem(self) -> Problem:
        """The problem with seed 0."""
        return self.make(0)

    @property
    def inputs(self) -> Tensor:
        """The training inputs of `problem`."""
        return self.problem.train.inputs

    @cached_property
    def posterior(self) -> Any:
        """The fit to `problem`; a faulty method may return anything."""
        return self.method.fit(self.problem, stream(1))

    @cached_property
    def repetition(self) -> Repetition:
        """The fit to `problem` with an equal stream."""
        train = self.problem.train
        inputs, targets = train.inputs.clone(), train.targets.clone()
        self.posterior  # noqa: B018 (imports in a first fit may advance generators)
        before = global_generators()
        posterior = self.method.fit(self.problem, stream(1))
        posterior.predict(train.inputs, stream(2))
        after = global_generators()
        equal = {
            "inputs": torch.equal(train.inputs, inputs),
            "targets": torch.equal(train.targets, targets),
        }
        moved = tuple(name for name, state in before.items() if after[name] != state)
        return Repetition(posterior, moved, tuple(name for name, same in equal.items() if not same))

    def alone(self, seed: int) -> Any:
        """Return the fit to the problem of a seed, with the stream of seed + 10."""
        if seed not in self._alone:
            self._alone[seed] = self.method.fit(self.make(seed), stream(10 + seed))
        return self._alone[seed]

    @cached_property
    def together(self) -> list[Any]:
        """The results of `fit_many` for seeds 0, 1 and 2, with the streams of `alone`."""
        problems = [self.make(seed) for seed in range(3)]
        results = self.method.fit_many(problems, streams(10, 11, 12))
        require(len(results) == 3, f"fit_many returned {len(results)} results for 3 problems")
        return results


def global_generators() -> dict[str, object]:
    """Return the states of the process-wide random generators, by library."""
    numpy = str(np.random.get_state())  # noqa: NPY002 (the legacy generator is being checked)
    return {"NumPy": numpy, "torch": torch.get_rng_state().tolist()}


def require(condition: object, message: str) -> None:
    """Raise `Broken` unless the condition is true."""
    if not condition:
        raise Broken(message)


def require_identical(
    one: Any, other: Any, inputs: Tensor, message: str = "they must be equal to the last bit"
) -> None:
    """Raise `Broken` unless two posteriors have equal predictions and diagnostics."""
    (tensors, diagnostics), (others, other_diagnostics) = (
        said(one, inputs),
        said(other, inputs),
    )
    require(diagnostics == other_diagnostics, f"the diagnostics differ: {message}")
    pairs = zip(tensors, others, strict=True)
    require(all(same(a, b) for a, b in pairs), f"the predictions differ: {message}")


def same(one: Tensor, other: Tensor) -> bool:
    """Return whether arrays are equal to the last bit; NaN, caught by another check, counts too."""
    if torch.equal(one, other):
        return True
    comparable = one.shape == other.shape and one.is_floating_point() and one.dtype == other.dtype
    return comparable and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def require_close(one: Arrays, other: Arrays, message: str) -> None:
    """Raise `Broken` unless two predictions' arrays are equal up to rounding."""
    for name, expected in one.items():
        try:
            torch.testing.assert_close(other[name], expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            largest = str(error).partition("Greatest absolute difference: ")[2].partition(" ")[0]
            raise Broken(f"{message} (largest difference {largest or 'unknown'})") from error


def by_point(prediction: Predictive) -> Arrays:
    """Return a prediction's arrays with its points along the first axis.

    These are the fields annotated with an axis `points`, and its answers to metrics.
    """
    arrays: dict[str, Tensor] = {}
    for name in ANSWERS:
        answer = getattr(prediction, name, None)
        if isinstance(answer, Tensor):
            arrays[name] = answer
    for one in dataclasses.fields(prediction) if dataclasses.is_dataclass(prediction) else ():
        for kind in (one.type, *get_args(one.type)):
            axes = getattr(kind, "dim_str", "").split()
            value = getattr(prediction, one.name)
            if "points" in axes and isinstance(value, Tensor):
                arrays[one.name] = value.movedim(axes.index("points"), 0)
    return arrays


def said(posterior: Any, inputs: Tensor) -> tuple[list[Tensor], dict[str, float]]:
    """Return a posterior's predictions, drawn with a fixed stream, and its diagnostics."""
    prediction = posterior.predict(inputs, stream(2))
    return list(vars_of(prediction).values()), dict(posterior.diagnostics)


def is_method(value: object) -> bool:
    """Return whether a value implements the protocol of a method."""
    return isinstance(value, Method)


def explained(error: BaseException) -> str:
    """Return an error in one line, with the place where it was raised."""
    if isinstance(error, Broken | PackageMissing):
        return str(error)
    if isinstance(error, InferenceDiverged):
        return f"inference diverged: {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
