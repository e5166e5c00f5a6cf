"""Access to the rows of runs, loaded in this process or served by another one.

A third-party method runs in an isolated process, which gets training rows from a data server before
the fit and test rows after it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, cast, runtime_checkable

from torch import Tensor

from bnnbench.datasets.base import Dataset, DataSource, PoolSource
from bnnbench.datasets.reading import cache
from bnnbench.datasets.reading.withheld import withheld
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.guards.data_guard import sound
from bnnbench.engine.run.guards.isolation import fixed, read_only
from bnnbench.engine.run.states import Loaded, State

Request = tuple[Literal["train", "test"], DataSource, int, tuple[int, ...]]
"""Part, source, fold, and acquired rows of a pool."""


@runtime_checkable
class Rows(Protocol):
    """Access to the rows of runs."""

    def load(self, run: Run) -> Loaded:
        """Return a run with the rows of its first fit; raises what its source raises."""
        ...

    def grown(self, loaded: Loaded) -> Loaded:
        """Return a run with the rows of its next fit, including those that it acquired."""
        ...

    def with_test_rows(self, state: State) -> State:
        """Return the state of a fitted or failed run with all rows of its fold."""
        ...

    def undamaged(self, states: Sequence[State]) -> list[State]:
        """Return the states; data that another run has changed are loaded again."""
        ...

    def read_only(self, inputs: Tensor) -> Tensor:
        """Return the inputs as passed to `predict`."""
        ...

    def without_loading(self) -> AbstractContextManager[object]:
        """Return a context for a fit, in which served rows cannot be loaded again."""
        ...


class LocalRows:
    """All rows, loaded in this process."""

    def load(self, run: Run) -> Loaded:
        data = run.source.load(run.fold)
        return Loaded(run, data, data)

    def grown(self, loaded: Loaded) -> Loaded:
        source = cast(PoolSource, loaded.run.source)
        return replace(loaded, data=source.with_acquired(loaded.run.fold, loaded.acquired))

    def with_test_rows(self, state: State) -> State:
        return state

    def undamaged(self, states: Sequence[State]) -> list[State]:
        # Seeds of a fold share their data. All are checksummed before a method sees any.
        data = {id(state.loaded.data): state.loaded.data for state in states}
        changed = {key for key, one in data.items() if not sound(one.train, one.test)}
        if changed:
            cache.forget()
        return [self._again(s) if id(s.loaded.data) in changed else s for s in states]

    def read_only(self, inputs: Tensor) -> Tensor:
        return inputs

    def without_loading(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _again(self, state: State) -> State:
        first = self.load(state.loaded.run).data
        loaded = replace(state.loaded, first=first, data=first)
        return state.with_loaded(self.grown(loaded) if loaded.acquired else loaded)


@dataclass(frozen=True)
class ServedRows:
    """Rows from a data server, in read-only memory, without test rows during a fit.

    `ask` forwards a request to `answered` in the server's process.
    """

    ask: Callable[[Request], Dataset]
    _given: dict[Request, Dataset] = field(default_factory=dict)

    def load(self, run: Run) -> Loaded:
        data = self.training_rows(run.source, run.fold)
        return Loaded(run, data, data)

    def grown(self, loaded: Loaded) -> Loaded:
        source, fold = loaded.run.source, loaded.run.fold
        self._given.clear()
        cache.forget()
        first = self.training_rows(source, fold)
        return replace(loaded, first=first, data=self.training_rows(source, fold, loaded.acquired))

    def with_test_rows(self, state: State) -> State:
        loaded = state.loaded
        source, fold = loaded.run.source, loaded.run.fold
        first = data = self.all_rows(source, fold)
        if loaded.acquired:
            data = self.all_rows(source, fold, loaded.acquired)
        return state.with_loaded(replace(loaded, first=first, data=data))

    def undamaged(self, states: Sequence[State]) -> list[State]:
        return list(states)  # their memory is read-only

    def read_only(self, inputs: Tensor) -> Tensor:
        return read_only(inputs)

    def without_loading(self) -> AbstractContextManager[object]:
        return withheld()

    def training_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a fold without its test rows; raises what the source raises."""
        return self._part(("train", source, fold, tuple(acquired)))

    def all_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a whole fold."""
        rest = self._part(("test", source, fold, tuple(acquired)))
        train = self.training_rows(source, fold, acquired)
        return replace(train, test=rest.test, truth=rest.truth, exact=rest.exact)

    def _part(self, request: Request) -> Dataset:
        if request not in self._given:
            part = self.ask(request)
            self._given[request] = replace(part, train=fixed(part.train), test=fixed(part.test))
        return self._given[request]


def answered(request: Request) -> Dataset:
    """Return a fold with training rows only, or test rows only."""
    part, source, fold, acquired = request
    dataset = (
        cast(PoolSource, source).with_acquired(fold, acquired) if acquired else source.load(fold)
    )
    nothing = slice(0, 0)
    if part == "train":
        return replace(dataset, test=dataset.test.rows(nothing), truth=None, exact=None)
    return replace(dataset, train=dataset.train.rows(nothing))
