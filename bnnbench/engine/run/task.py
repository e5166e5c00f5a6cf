"""Tasks and their outcomes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from bnnbench.engine.declare.grid import Evaluation, Reproduces, Run, after_each_fit
from bnnbench.engine.declare.third_party import has_third_party_code
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.provenance import Code, code_of
from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.states import State
from bnnbench.methods.fitting.progress import Listener


@dataclass(frozen=True)
class Task:
    """Runs to be fitted together, and the evaluations of their posteriors."""

    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]
    device: str = "cpu"
    """Name of a device, resolved in the process that fits: "auto" is a GPU if it has one."""
    reproduces: tuple[Reproduces, ...] = ()
    checkpoints: Path | None = None
    """Checkpoint folder; may be absent on this machine."""
    codes: tuple[tuple[str, Code], ...] = ()
    """The label of each method, and the state of its sources."""
    shortened: str = ""
    """A sentence that names the parts cut from the suite to keep a time limit, for the records."""
    in_process: bool = False
    """True if third-party methods share the process, which the records then say."""
    sandbox: Sandbox | None = None
    """Confinement of processes that run third-party code, which the records then say."""

    def code(self, run: Run) -> Code:
        """Return the state of the sources of a run's method."""
        return dict(self.codes).get(run.label, Code())

    @property
    def rounds(self) -> list[tuple[Evaluation, ...]]:
        """The evaluations after each fit; only active learning has several fits."""
        return after_each_fit(self.evaluations, self.runs[0].acquisition)

    @property
    def name(self) -> str:
        """A name for progress lines."""
        first, count = self.runs[0], len(self.runs)
        runs = f"{count} runs" if count > 1 else f"fold {first.fold}, seed {first.seed}"
        labels = " and ".join(dict.fromkeys(run.label for run in self.runs))
        return f"{labels} on {first.case.name} ({runs})"

    @property
    def has_third_party_code(self) -> bool:
        """True if a method, or a module of a network, is third-party."""
        return any(map(has_third_party_code, one_of_each_method(self.runs)))

    def confined(self, sandbox: Sandbox | None) -> "Task":
        """Return a task with third-party code in a sandbox, if there is one; any other as it is."""
        return replace(self, sandbox=sandbox) if self.has_third_party_code else self


def codes_of(runs: Iterable[Run]) -> tuple[tuple[str, Code], ...]:
    """Return the label of each method of some runs, and the state of its sources."""
    return tuple((run.label, code_of(run.method)) for run in one_of_each_method(runs))


def one_of_each_method(runs: Iterable[Run]) -> list[Run]:
    """Return one of the runs of each method."""
    return list({run.label: run for run in runs}.values())


@dataclass(frozen=True)
class Packed:
    """The final state of a run, with its predictions as the bytes of a file."""

    state: State
    predictions: bytes | None = None
    trials: bytes | None = None
    """Predictions of a search's trials, if they are to be scored in another process."""


CarryOut = Callable[[Task, torch.device, Listener, Rows], list[Packed]]
"""A function that runs a task."""


@dataclass(frozen=True)
class RunResult:
    """A record and, if the run was completed, its predictions."""

    record: Record
    predictions: bytes | None
    """Content of predictions.npz; None if the run was not completed."""


@dataclass(frozen=True)
class Draft:
    """The result of a run in an isolated process, which has no test targets to score it."""

    record: Record
    """A record without scores, except those that only this process can give."""
    predictions: bytes | None
    """Predictions, with zeros for targets; None if the run was not completed."""
    revealed: bytes | None = None
    """The same with those that needed test targets; None if there are none."""
    trials: bytes | None = None
    """Predictions of a search's trials."""
