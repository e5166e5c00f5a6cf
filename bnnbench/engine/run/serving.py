"""Answers of a data server to an isolated process, which may run third-party code.

The driver says which task the process carries out; the process can ask only for its rows, in an
order that gives it no test target before all predictions that do not need one have left it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, PoolSource, Split
from bnnbench.datasets.conditions.base import Condition
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run import devices
from bnnbench.engine.run.attacking import transferred
from bnnbench.engine.run.rows import choices, data_of
from bnnbench.engine.run.task import Task
from bnnbench.methods.base import NotDifferentiable, Posterior, Problem


class Refused(ValueError):
    """A question that a process does not ask if it follows the protocol."""


@dataclass(frozen=True)
class Absent:
    """Stands for a method whose code is not to be imported."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        raise NotImplementedError("the method is in another process")


def without_code(task: Task) -> Task:
    """Return a task without its method and network, whose code need not be imported to read it."""
    runs = [replace(run, method=Absent(), case=replace(run.case, network=())) for run in task.runs]
    return replace(task, runs=tuple(runs))


class Session:
    """The rows of one task, for the process that carries it out."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._acquired: list[tuple[int, ...]] = [()] * len(task.runs)
        self._loaded: dict[tuple[int, tuple[int, ...]], Dataset] = {}
        """Fold and acquired rows → the data of the runs' present rounds."""
        self.reveals = False
        """True once the driver has the predictions that are made without test targets."""

    def answer(self, question: object) -> object:
        """Return the answer to a question: its name and its arguments.

        An attack without a gradient to follow is answered by the `NotDifferentiable` itself. Raises
        `Refused`, and what a source or a condition raises.
        """
        given: list[Any] = question if isinstance(question, list) and question else [None]
        name, *arguments = given
        if not isinstance(name, str) or name not in _QUESTIONS:
            raise Refused("an unknown question")
        kinds = _QUESTIONS[name]
        if len(arguments) != len(kinds) or any(
            type(argument) is not kind for argument, kind in zip(arguments, kinds, strict=True)
        ):
            raise Refused(f"the question {name!r} with other arguments")
        if name == "training":
            return self._training()
        if not 0 <= arguments[0] < len(self._task.runs):
            raise Refused(f"the question {name!r} about a run that the task does not have")
        if name in _REVEALING and not self.reveals:
            raise Refused("a question about test targets before the predictions were handed over")
        return getattr(self, f"_{name}")(*arguments)

    def _training(self) -> list[Dataset]:
        """Return the first training rows of every run; seeds of a fold share theirs."""
        folds = {run.fold: _without_test(self._data(run, ())) for run in self._task.runs}
        return [folds[run.fold] for run in self._task.runs]

    def _candidates(self, number: int) -> np.ndarray:
        run = self._task.runs[number]
        if run.acquisition is None:
            raise Refused("a question about the pool of a run without acquisitions")
        if len(self._acquired[number]) >= run.acquisition.rounds * run.acquisition.batch:
            raise Refused("a question about the pool after the last acquisition")
        return choices(run, self._acquired[number])

    def _pool(self, number: int, rows: list[object]) -> Tensor:
        chosen = _numbers(rows)
        if not set(chosen) <= set(self._candidates(number).tolist()):
            raise Refused("a question about rows that are not in the pool")
        run = self._task.runs[number]
        scaling = self._data(run, self._acquired[number]).scaling
        return cast(PoolSource, run.source).inputs(np.array(chosen, dtype=np.int64), scaling)

    def _acquire(self, number: int, rows: list[object]) -> Dataset:
        """Return the training rows after an acquisition; `rows` are all that were acquired."""
        run, before, acquired = self._task.runs[number], self._acquired[number], _numbers(rows)
        candidates = set(self._candidates(number).tolist())
        assert run.acquisition is not None
        new = acquired[len(before) :]
        if acquired[: len(before)] != before or len(set(new)) != len(new) != 0:
            raise Refused("an acquisition that does not continue those before it")
        if len(new) != run.acquisition.batch or not set(new) <= candidates:
            raise Refused(f"an acquisition of other than {run.acquisition.batch} rows of the pool")
        self._acquired[number] = acquired
        return _without_test(self._data(run, acquired))

    def _inputs(self, number: int, name: str) -> Split:
        split = self._condition(number, name).select(self._current(number))
        return replace(split, targets=torch.zeros_like(split.targets))

    def _transferred(self, number: int, name: str) -> Tensor | NotDifferentiable:
        condition, data = self._condition(number, name), self._current(number)
        if not isinstance(condition, Attack) or condition.surrogate is None:
            raise Refused("a question about an attack on a surrogate that the task does not have")
        try:
            with devices.used(self._task.device) as device:
                return transferred(condition, self._task.runs[number], data, device).cpu()
        except NotDifferentiable as reason:
            return reason

    def _targets(self, number: int, name: str) -> Split:
        return self._condition(number, name).select(self._current(number))

    def _everything(self, number: int) -> Dataset:
        return self._current(number)

    def _condition(self, number: int, name: str) -> Condition:
        """Return a condition of the run's present round."""
        acquisition = self._task.runs[number].acquisition
        count = len(self._acquired[number]) // acquisition.batch if acquisition else 0
        for evaluation in self._task.rounds[count]:
            if evaluation.condition.name == name:
                return evaluation.condition
        raise Refused("a question about a condition that the task does not have")

    def _current(self, number: int) -> Dataset:
        return self._data(self._task.runs[number], self._acquired[number])

    def _data(self, run: Run, acquired: tuple[int, ...]) -> Dataset:
        key = run.fold, acquired
        if key not in self._loaded:
            present = {
                (r.fold, rows) for r, rows in zip(self._task.runs, self._acquired, strict=True)
            }
            self._loaded = {k: data for k, data in self._loaded.items() if k in present}
            self._loaded[key] = data_of(run, acquired)
        return self._loaded[key]


_QUESTIONS: Mapping[str, tuple[type, ...]] = {
    "training": (),
    "candidates": (int,),
    "pool": (int, list),
    "acquire": (int, list),
    "inputs": (int, str),
    "transferred": (int, str),
    "targets": (int, str),
    "everything": (int,),
}
"""Question → the types of its arguments, the first of which is the number of a run."""

_REVEALING = ("targets", "everything")


def _numbers(rows: list[Any]) -> tuple[int, ...]:
    if any(type(row) is not int for row in rows):
        raise Refused("rows that are not whole numbers")
    return tuple(rows)


def _without_test(data: Dataset) -> Dataset:
    return replace(data, test=data.test.rows(slice(0, 0)), truth=None, exact=None)
