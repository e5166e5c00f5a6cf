"""The whole flow of a run in one place: load, fit, predict, score, record."""

from functools import partial

import torch

from bnnbench.engine.run import devices
from bnnbench.engine.run.acquiring import with_acquired
from bnnbench.engine.run.fitting import fit_all
from bnnbench.engine.run.guards.canary import with_canary
from bnnbench.engine.run.guards.global_state import with_restored_state
from bnnbench.engine.run.outcomes import outcome_of
from bnnbench.engine.run.packing import pack
from bnnbench.engine.run.rows import LocalRows, Rows
from bnnbench.engine.run.scoring import probe, score_all, score_trials
from bnnbench.engine.run.states import Failed, State, each, tried
from bnnbench.engine.run.task import Packed, RunResult, Task
from bnnbench.methods.fitting.progress import Listener, listening, part_of
from bnnbench.methods.source_code import Class, classes_of, digest_of


def execute(
    task: Task, listener: Listener = lambda *_: None, rows: Rows | None = None
) -> list[RunResult]:
    """Return one outcome for each run of the task.

    Inference that diverges is a result. Any other error of a method is recorded as a failed run
    with its traceback; an error of the engine or of a data source stops the suite.

    If `rows` are served by another process, test rows come into this one only after the fit. After
    a third-party method a reference fit is repeated: if its result differs, the runs have failed,
    and no other task should follow in this process.
    """
    with devices.used(task.device) as device:
        carry_out = with_canary(with_restored_state(run_task))
        packed = carry_out(task, device, listener, rows or LocalRows())
        return [outcome_of(one, task, device) for one in packed]


def run_task(task: Task, device: torch.device, listener: Listener, rows: Rows) -> list[Packed]:
    """Run a task: load, fit, predict and score each run, until it is finished or fails."""
    states: list[State] = [rows.load(run) for run in task.runs]
    for number, evaluations in enumerate(task.rounds):
        if number:
            states = each(states, partial(with_acquired, number=number, device=device, rows=rows))
        with listening(part_of(listener, number, len(task.rounds))):
            states = fit_all(states, number, device, task.checkpoints, rows)
        states = [rows.with_test_rows(state) for state in states]
        score = partial(score_all, evaluations=evaluations, device=device, rows=rows)
        states = each(states, score)
    states = each(states, partial(probe, device=device))
    chosen_by = next(iter(task.rounds[-1]), None)
    states = each(states, partial(score_trials, evaluation=chosen_by, device=device))
    return [_packed(state) for state in states]


def _packed(state: State) -> Packed:
    """Return a state with the packed predictions of a completed run; errors make it `Failed`."""
    if isinstance(state, Failed):
        return Packed(state)
    conditions = state.results.conditions.items()
    stored = {name: result.stored for name, result in conditions if result.stored}
    predictions = tried(partial(pack, stored))
    if isinstance(predictions, BaseException):
        return Packed(Failed.by(predictions, state))
    return Packed(state, predictions)


def sources_sha256(task: Task) -> str:
    """Return the digest of the code that runs a task: the engine's and the method's."""
    return digest_of(Class(__name__, execute.__name__), *classes_of(task.runs[0].method))
