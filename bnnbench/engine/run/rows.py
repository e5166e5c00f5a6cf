"""Access to the rows of runs, loaded in this process or served by another one.

A third-party method runs in an isolated process, which gets training rows from a data server before
the fit, inputs of test rows after it, and test targets only where it must, at the very end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.datasets.base import Dataset, PoolSource, Split
from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.errors import PoolTooSmall
from bnnbench.datasets.reading import cache
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.guards.data_guard import fixed, read_only, sound
from bnnbench.engine.run.states import Loaded, State


@runtime_checkable
class Rows(Protocol):
    """Access to the rows of runs."""

    @property
    def with_targets(self) -> bool:
        """False if selected splits have zeros for targets, so that nothing can be scored here."""
        ...

    def load(self, runs: Sequence[Run]) -> list[Loaded]:
        """Return the runs with the rows of their first fit; raises what their source raises."""
        ...

    def candidates(self, loaded: Loaded) -> Int[np.ndarray, " candidates"]:
        """Return the rows of a pool that a run has not acquired, in random order."""
        ...

    def pool_inputs(
        self, loaded: Loaded, rows: Int[np.ndarray, " rows"]
    ) -> Float[Tensor, "rows *features"]:
        """Return inputs of candidates, under the scaling of a run's latest fit."""
        ...

    def grown(self, loaded: Loaded) -> Loaded:
        """Return a run with the rows of its next fit, including those that it acquired."""
        ...

    def selected(self, loaded: Loaded, condition: Condition) -> Split:
        """Return the split that a condition selects from the rows of a run."""
        ...

    def on_first_scale(self, loaded: Loaded, condition: Condition) -> Tensor:
        """Return the targets of a condition under the standardisation of a run's first fit."""
        ...

    def transferred(self, loaded: Loaded, condition: Condition) -> Tensor | None:
        """Return the inputs after an attack on a surrogate; None if it is to be made here.

        Raises `NotDifferentiable`.
        """
        ...

    def hand_over(self, states: Sequence[State]) -> list[State]:
        """Deliver all predictions so far to whoever scores them; targets may follow.

        Returns the states, of which those are `Failed` whose predictions cannot be packed.
        """
        ...

    def revealed(self, loaded: Loaded, condition: Condition) -> Split:
        """Return a selected split with its targets, after `hand_over`."""
        ...

    def everything(self, loaded: Loaded) -> Dataset:
        """Return all rows of a run's latest fit and of its test, after `hand_over`."""
        ...

    def undamaged(self, states: Sequence[State]) -> list[State]:
        """Return the states; data that another run has changed are loaded again."""
        ...

    def read_only(self, inputs: Tensor) -> Tensor:
        """Return the inputs as passed to `predict`."""
        ...


class LocalRows:
    """All rows, loaded in this process."""

    with_targets = True

    def load(self, runs: Sequence[Run]) -> list[Loaded]:
        data = [run.source.load(run.fold) for run in runs]
        return [Loaded(run, one, one) for run, one in zip(runs, data, strict=True)]

    def candidates(self, loaded: Loaded) -> Int[np.ndarray, " candidates"]:
        return choices(loaded.run, loaded.acquired)

    def pool_inputs(self, loaded: Loaded, rows: Int[np.ndarray, " rows"]) -> Tensor:
        return cast(PoolSource, loaded.run.source).inputs(rows, loaded.data.scaling)

    def grown(self, loaded: Loaded) -> Loaded:
        source = cast(PoolSource, loaded.run.source)
        return replace(loaded, data=source.with_acquired(loaded.run.fold, loaded.acquired))

    def selected(self, loaded: Loaded, condition: Condition) -> Split:
        split = condition.select(loaded.data)
        if not sound(split):  # an earlier run has changed its rows
            cache.forget()
            split = condition.select(loaded.data)
        return split

    def on_first_scale(self, loaded: Loaded, condition: Condition) -> Tensor:
        return condition.select(loaded.first).targets

    def transferred(self, loaded: Loaded, condition: Condition) -> Tensor | None:
        return None

    def hand_over(self, states: Sequence[State]) -> list[State]:
        return list(states)

    def revealed(self, loaded: Loaded, condition: Condition) -> Split:
        return self.selected(loaded, condition)

    def everything(self, loaded: Loaded) -> Dataset:
        return loaded.data

    def undamaged(self, states: Sequence[State]) -> list[State]:
        # Seeds of a fold share their data. All are checksummed before a method sees any.
        data = {id(state.loaded.data): state.loaded.data for state in states}
        changed = {key for key, one in data.items() if not sound(*one.splits)}
        if changed:
            cache.forget()
        return [self._again(s) if id(s.loaded.data) in changed else s for s in states]

    def read_only(self, inputs: Tensor) -> Tensor:
        return inputs

    def _again(self, state: State) -> State:
        (loaded,) = self.load([state.loaded.run])
        loaded = replace(state.loaded, first=loaded.data, data=loaded.data)
        return state.with_loaded(self.grown(loaded) if loaded.acquired else loaded)


def data_of(run: Run, acquired: Sequence[int]) -> Dataset:
    """Return the fold of a run, with the acquired rows of a pool."""
    if not acquired:
        return run.source.load(run.fold)
    return cast(PoolSource, run.source).with_acquired(run.fold, acquired)


def choices(run: Run, acquired: Sequence[int]) -> Int[np.ndarray, " candidates"]:
    """Return the rows to choose from; raises PoolTooSmall if they are fewer than a batch."""
    source, acquisition = cast(PoolSource, run.source), run.acquisition
    assert acquisition is not None
    rows = source.candidates(run.fold, acquired)
    if len(rows) < acquisition.batch:
        raise PoolTooSmall(
            f"{source.name} has {len(rows)} rows left in its pool, {acquisition.batch} are to be "
            "acquired: use fewer rounds or smaller batches"
        )
    return rows


class ServedRows:
    """Rows from a data server, in read-only memory.

    `ask` forwards a question to `serving.Session` in the server's process; `deliver` sends the
    predictions of all runs to the driver, and returns the states once targets may be asked for.
    """

    with_targets = False

    def __init__(
        self, ask: Callable[..., Any], deliver: Callable[[Sequence[State]], list[State]]
    ) -> None:
        self._ask, self._deliver = ask, deliver
        self._runs: Sequence[Run] = ()
        first: list[Dataset] = ask("training")
        shared = {id(data): data for data in first}
        fixed_once = {key: _fixed(data) for key, data in shared.items()}
        self._first = [fixed_once[id(data)] for data in first]

    def load(self, runs: Sequence[Run]) -> list[Loaded]:
        self._runs = runs
        return [Loaded(run, data, data) for run, data in zip(runs, self._first, strict=True)]

    def candidates(self, loaded: Loaded) -> Int[np.ndarray, " candidates"]:
        return self._ask("candidates", self._number(loaded))

    def pool_inputs(self, loaded: Loaded, rows: Int[np.ndarray, " rows"]) -> Tensor:
        return self._ask("pool", self._number(loaded), rows.tolist())

    def grown(self, loaded: Loaded) -> Loaded:
        data = self._ask("acquire", self._number(loaded), list(loaded.acquired))
        return replace(loaded, data=_fixed(data))

    def selected(self, loaded: Loaded, condition: Condition) -> Split:
        return fixed(self._ask("inputs", self._number(loaded), condition.name))

    def on_first_scale(self, loaded: Loaded, condition: Condition) -> Tensor:
        return self.selected(loaded, condition).targets

    def transferred(self, loaded: Loaded, condition: Condition) -> Tensor | None:
        return self._ask("transferred", self._number(loaded), condition.name)

    def hand_over(self, states: Sequence[State]) -> list[State]:
        return self._deliver(states)

    def revealed(self, loaded: Loaded, condition: Condition) -> Split:
        return fixed(self._ask("targets", self._number(loaded), condition.name))

    def everything(self, loaded: Loaded) -> Dataset:
        return _fixed(self._ask("everything", self._number(loaded)))

    def undamaged(self, states: Sequence[State]) -> list[State]:
        return list(states)  # their memory is read-only

    def read_only(self, inputs: Tensor) -> Tensor:
        return read_only(inputs)

    def _number(self, loaded: Loaded) -> int:
        return next(n for n, run in enumerate(self._runs) if run is loaded.run)


def _fixed(data: Dataset) -> Dataset:
    calibration = data.calibration and fixed(data.calibration)
    return replace(data, train=fixed(data.train), test=fixed(data.test), calibration=calibration)
