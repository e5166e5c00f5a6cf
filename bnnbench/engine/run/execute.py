"""The whole flow of a run in one place: load, fit, predict, score, record."""

from functools import partial

import torch

from bnnbench.engine.run import devices
from bnnbench.engine.run.acquiring import with_acquired
from bnnbench.engine.run.attacking import needs_targets
from bnnbench.engine.run.fitting import fit_all
from bnnbench.engine.run.guards.canary import with_canary
from bnnbench.engine.run.guards.global_state import with_restored_state
from bnnbench.engine.run.outcomes import outcome_of, packed_state
from bnnbench.engine.run.rows import LocalRows, Rows
from bnnbench.engine.run.scoring import probe, score_all, score_trials
from bnnbench.engine.run.states import State, each
from bnnbench.engine.run.task import Draft, Packed, RunResult, Task, one_of_each_method
from bnnbench.methods.fitting.progress import Listener, listening, part_of
from bnnbench.methods.source_code import Class, classes_of, digest_of


def execute(task: Task, listener: Listener = lambda *_: None) -> list[RunResult]:
    """Return one outcome for each run of the task.

    Inference that diverges is a result. Any other error of a method is recorded as a failed run
    with its traceback; an error of the engine or of a data source stops the suite.

    After a third-party method a reference fit is repeated: if its result differs, the runs have
    failed, and no other task should follow in this process.
    """
    with devices.used(task.device) as device:
        packed = _guarded(task, device, listener, LocalRows())
        return [outcome_of(one, task, device) for one in packed]


def draft(task: Task, listener: Listener, rows: Rows) -> list[Draft]:
    """Return one draft for each run of the task, with rows that another process serves.

    The process that calls this gets no test target before `rows.hand_over`, and scores nothing.
    """
    with devices.used(task.device) as device:
        packed = _guarded(task, device, listener, rows)
        ends = [outcome_of(one, task, device, scored=False) for one in packed]
        return [Draft(end.record, None, end.predictions) for end in ends]


def _guarded(task: Task, device: torch.device, listener: Listener, rows: Rows) -> list[Packed]:
    return with_canary(with_restored_state(run_task))(task, device, listener, rows)


def run_task(task: Task, device: torch.device, listener: Listener, rows: Rows) -> list[Packed]:
    """Run a task: load, fit, predict and score each run, until it is finished or fails.

    What needs test targets in the method's process comes last: attacks on the posterior, probes.
    """
    states: list[State] = [*rows.load(task.runs)]
    for number, evaluations in enumerate(task.rounds):
        if number:
            states = each(states, partial(with_acquired, number=number, device=device, rows=rows))
        with listening(part_of(listener, number, len(task.rounds))):
            states = fit_all(states, number, device, task.checkpoints, rows)
        at_once = [e for e in evaluations if not needs_targets(e.condition)]
        states = each(states, partial(score_all, evaluations=at_once, device=device, rows=rows))
    attacks = [e for e in task.rounds[-1] if needs_targets(e.condition)]
    chosen_by = next(iter(task.rounds[-1]), None)
    states = each(states, partial(score_trials, evaluation=chosen_by, device=device, rows=rows))
    states = rows.hand_over(states)
    states = each(states, partial(score_all, evaluations=attacks, device=device, rows=rows))
    states = each(states, partial(probe, device=device, rows=rows))
    handed_over = not (rows.with_targets or attacks)
    return [Packed(state) if handed_over else packed_state(state, task) for state in states]


def sources_sha256(task: Task) -> str:
    """Return the digest of the code that runs a task: the engine's and the methods'."""
    methods = [run.method for run in one_of_each_method(task.runs)]
    return digest_of(Class(__name__, execute.__name__), *classes_of(methods))
